"""What the guard writes into the scope of a request, for those who come after it."""

REQUEST_ID = "kb.request_id"
HAS_ANSWER = "kb.has_answer"
