"""`graphcuts-dp session`: the group of its subcommands."""

from graphcuts_dp.cli import session, session_record, session_repl
from graphcuts_dp.cli.options import Commands

sessions = Commands(
    help="Answer cut queries on a private graph one by one, with a durable ledger.",
)
sessions.command(epilog=session.START_EXAMPLE)(session.start)
sessions.command(epilog=session.ASK_EXAMPLE)(session.ask)
sessions.command(epilog=session_repl.EXAMPLE)(session_repl.repl)
sessions.command(epilog=session.RUN_EXAMPLE)(session.run)
sessions.command(epilog=session_record.STATUS_EXAMPLE)(session_record.status)
sessions.command(epilog=session_record.EXPORT_EXAMPLE)(session_record.export)
sessions.command("list", epilog=session_record.LIST_EXAMPLE)(session_record.list_sessions)
