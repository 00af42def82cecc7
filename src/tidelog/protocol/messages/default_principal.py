"""How a broker writes down a principal when it forwards a request (see Envelope). A version (int16) comes first."""

from tidelog.protocol.schema import boolean, record, string


@record("data", versions="0", flexible="0+")
class DefaultPrincipalData:
    type: string
    name: string
    token_authenticated: boolean
