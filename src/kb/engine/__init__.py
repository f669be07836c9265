"""The engine: documents, ingestion and search behind an HTTP API."""

import os

# Before numpy is first imported. Its matrix library would otherwise share each product among threads that spin
# while they wait: with all cores busy, a product of 0.3 ms was measured to take 12 ms.
os.putenv("OPENBLAS_NUM_THREADS", "1")
