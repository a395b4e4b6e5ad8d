#!/bin/sh
# Every call of the server, in an order that works on a new store. ANALYST and CURATOR are tokens.
# The id of a session is the name of its analyst, a dot, and its own name: ann.first.
at="${SERVER:-http://127.0.0.1:8470}/v1"
json="Content-Type: application/json"
ann="Authorization: Bearer $ANALYST"
boss="Authorization: Bearer $CURATOR"

# Who I am, what is public, what is left; what mechanisms and sessions would guarantee.
curl -H "$ann" $at/me
curl -H "$ann" $at/graphs
curl -H "$ann" $at/graph
curl -H "$ann" $at/vertices
curl -H "$ann" $at/budget
curl -H "$ann" -H "$json" -d '{"epsilon": 1, "queries": 100}' $at/plan
curl -H "$ann" -H "$json" -d '{"epsilon": 1, "queries": 100}' $at/forecast
curl -H "$ann" -H "$json" -d '{"terms": {"epsilon": 1, "queries": 9}, "queries": [{"S": ["v1"]}]}' $at/dummy

# Of a server with several graphs, routes of one begin with $at/graphs/NAME in place of $at.

# Ask for a session; a curator approves it, and that spends its cost.
curl -H "$ann" -H "$json" -d '{"name": "first", "epsilon": 1, "queries": 100}' $at/sessions
curl -H "$boss" -H "$json" -d '{"approve": true}' $at/sessions/ann.first/decision
curl -H "$ann" $at/sessions
curl -H "$ann" $at/sessions/ann.first

# Ask: what would it cost, the answers, the history, the transcript. The key makes it safe to repeat.
curl -H "$ann" -H "$json" -d '{"queries": [{"S": ["v1"], "T": ["v2", "v3"]}]}' $at/sessions/ann.first/cost
curl -H "$ann" -H "$json" -H "Idempotency-Key: 2f1c7d3e" -d '{"queries": [{"S": ["v1"]}]}' $at/sessions/ann.first/answers
curl -H "$ann" $at/sessions/ann.first/answers
curl -H "$ann" $at/sessions/ann.first/export

# People, for curators: a new one, limits, another token, who reads whose answers, no token any more.
curl -H "$boss" $at/people
curl -H "$boss" -H "$json" -d '{"name": "bob", "epsilon": 1, "queries": 100}' $at/people
curl -H "$boss" -H "$json" -X PUT -d '{"preapproved": true, "epsilon": 0.5}' $at/people/bob
curl -H "$boss" -X POST $at/people/bob/token
curl -H "$boss" -H "$json" -X PUT -d '{"reader": "ann", "analyst": "bob", "allowed": true}' $at/grants
curl -H "$boss" -X DELETE $at/people/bob

# What was spent, and the audit log.
curl -H "$boss" $at/spending
curl -H "$boss" $at/audit
curl -H "$boss" $at/audit/export
