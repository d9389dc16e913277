"""knox makes its own token table although ours takes its place; nothing reads it, and Django's flush does not know it."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("knox", "0009_extend_authtoken_field"),
    ]

    operations = [migrations.RunSQL("DROP TABLE IF EXISTS knox_authtoken", migrations.RunSQL.noop)]
