"""Lets the database refuse unbalanced entries, changes to the books, and balances of the wrong sign."""

from django.db import migrations

from ledger import guards


class Migration(migrations.Migration):
    dependencies = [("ledger", "0001_initial")]

    operations = [
        migrations.RunPython(
            lambda apps, schema_editor: guards.install(schema_editor),
            lambda apps, schema_editor: guards.remove(schema_editor),
        )
    ]
