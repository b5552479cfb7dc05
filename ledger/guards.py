"""The triggers by which the database itself refuses wrong books, for SQLite and PostgreSQL.

1. A seal is accepted only for an entry whose postings are two or more and sum to zero. An entry's foreign key to its
   seal is deferred, so that no transaction can commit an entry without one.
2. After the seal no posting is added; entries, postings and seals are never changed, on PostgreSQL never deleted.
   (On SQLite Django's test flush deletes row by row, where PostgreSQL truncates, so deletion is left to PROTECT there.)
3. A posting moves its account's balance; the check constraint on the account refuses a balance of the wrong sign.

SQLite rebuilds a table when it is altered and drops its triggers: a migration that alters one of these tables must
call `install` again. `reconcile` looks for them.
"""

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

TABLES = ("ledger_entry", "ledger_posting", "ledger_seal")
UNBALANCED = "ledger: the postings of an entry must be two or more and sum to zero"
SEALED = "ledger: the entry is sealed"
APPEND_ONLY = "ledger: the books are append-only"

SQLITE = {
    "ledger_seal_balances": f"""
        CREATE TRIGGER ledger_seal_balances BEFORE INSERT ON ledger_seal
        WHEN (SELECT COUNT(*) < 2 OR SUM(p.amount) <> 0 FROM ledger_posting p
              JOIN ledger_entry e ON e.id = p.entry_id WHERE e.seal_id = NEW.uid)
        BEGIN SELECT RAISE(ABORT, '{UNBALANCED}'); END""",
    "ledger_posting_open": f"""
        CREATE TRIGGER ledger_posting_open BEFORE INSERT ON ledger_posting
        WHEN EXISTS (SELECT 1 FROM ledger_seal s JOIN ledger_entry e ON e.seal_id = s.uid WHERE e.id = NEW.entry_id)
        BEGIN SELECT RAISE(ABORT, '{SEALED}'); END""",
    "ledger_posting_moves": """
        CREATE TRIGGER ledger_posting_moves AFTER INSERT ON ledger_posting
        BEGIN UPDATE ledger_account SET balance = balance + NEW.amount WHERE id = NEW.account_id; END""",
} | {
    f"{table}_fixed": f"""
        CREATE TRIGGER {table}_fixed BEFORE UPDATE ON {table}
        BEGIN SELECT RAISE(ABORT, '{APPEND_ONLY}'); END"""
    for table in TABLES
}

POSTGRESQL_FUNCTIONS = f"""
    CREATE OR REPLACE FUNCTION ledger_seal_balances() RETURNS trigger AS $$
    BEGIN
        IF (SELECT COUNT(*) < 2 OR SUM(p.amount) <> 0 FROM ledger_posting p
            JOIN ledger_entry e ON e.id = p.entry_id WHERE e.seal_id = NEW.uid) THEN
            RAISE EXCEPTION '{UNBALANCED}' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$ LANGUAGE plpgsql;
    CREATE OR REPLACE FUNCTION ledger_posting_open() RETURNS trigger AS $$
    BEGIN
        IF EXISTS (SELECT 1 FROM ledger_seal s JOIN ledger_entry e ON e.seal_id = s.uid WHERE e.id = NEW.entry_id) THEN
            RAISE EXCEPTION '{SEALED}' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$ LANGUAGE plpgsql;
    CREATE OR REPLACE FUNCTION ledger_posting_moves() RETURNS trigger AS $$
    BEGIN
        UPDATE ledger_account SET balance = balance + NEW.amount WHERE id = NEW.account_id;
        RETURN NULL;
    END $$ LANGUAGE plpgsql;
    CREATE OR REPLACE FUNCTION ledger_fixed() RETURNS trigger AS $$
    BEGIN
        RAISE EXCEPTION '{APPEND_ONLY}' USING ERRCODE = 'check_violation';
    END $$ LANGUAGE plpgsql;
"""

POSTGRESQL = {
    "ledger_seal_balances": "BEFORE INSERT ON ledger_seal FOR EACH ROW EXECUTE FUNCTION ledger_seal_balances()",
    "ledger_posting_open": "BEFORE INSERT ON ledger_posting FOR EACH ROW EXECUTE FUNCTION ledger_posting_open()",
    "ledger_posting_moves": "AFTER INSERT ON ledger_posting FOR EACH ROW EXECUTE FUNCTION ledger_posting_moves()",
} | {
    f"{table}_fixed": f"BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION ledger_fixed()"
    for table in TABLES
}


def install(schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Puts the guards in place, replacing older ones. Raises: NotImplementedError on any other database."""
    remove(schema_editor)
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(POSTGRESQL_FUNCTIONS)
        for name, body in POSTGRESQL.items():
            schema_editor.execute(f"CREATE TRIGGER {name} {body}")
    else:
        for statement in SQLITE.values():
            schema_editor.execute(statement)


def remove(schema_editor: BaseDatabaseSchemaEditor) -> None:
    vendor = schema_editor.connection.vendor
    if vendor == "postgresql":
        for name, body in POSTGRESQL.items():
            schema_editor.execute(f"DROP TRIGGER IF EXISTS {name} ON {body.split(' ON ')[1].split()[0]}")
    elif vendor == "sqlite":
        for name in SQLITE:
            schema_editor.execute(f"DROP TRIGGER IF EXISTS {name}")
    else:
        raise NotImplementedError(f"the ledger has no guards for {vendor}; use SQLite or PostgreSQL")


def find_missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Returns the names of the guards that the database does not have."""
    if connection.vendor == "postgresql":
        query, wanted = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal", POSTGRESQL
    else:
        query, wanted = "SELECT name FROM sqlite_master WHERE type = 'trigger'", SQLITE
    with connection.cursor() as cursor:
        cursor.execute(query)
        present = {row[0] for row in cursor.fetchall()}
    return sorted(set(wanted) - present)
