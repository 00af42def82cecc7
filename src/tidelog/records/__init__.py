"""Record batches: Kafka's unit of writing, of compression, of the checksum and of idempotence.

Two ways to read and write them, and one set of rules for both:

- objects, for the control plane and wherever a batch is looked at once: `batch` (read), `builder` (write),
  `patch` (what a broker changes in place), `control` (transaction markers and the like), `record`, `header`;
- columns, for bulk: `fetched` (a fetch buffer to Arrow-ready buffers), `produced` (such buffers to batches), on top of
  the compiled `kernels_walk`, `kernels_decode` and `kernels_encode`.

`compression` knows the four codecs, `aborted` what a read_committed consumer must not see, `errors` every way in which
bytes can be wrong. A corrupt batch is an error with a type, a base offset and a reason, whichever way it is read.
"""
