"""What a user gets and can save: releases, tables of flows, their files and receipts."""
