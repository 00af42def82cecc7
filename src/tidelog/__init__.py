"""Tidelog: a distributed commit log that speaks Kafka's protocol and writes Kafka's files.

Nothing is imported here: `import tidelog` must stay free, because every tool and worker process pays for it. The one
exception decides whether the compiled modules may be used, and has to run before any of them is imported.
"""

from tidelog import _compiled

_compiled.install()
