"""The traffic of a shop, from a seed, and what a right pipeline has to say about it.

    catalogue, shoppers, malformed  what is sold, who comes, what goes wrong
    generator                       all of it as one stream of records, with the times of their sending
    rules, truth, answers           the exact results, by plain Python, from the bytes that were sent
    results, verdict                what the pipeline's topics say, and where it differs
    sending                         the stream into a cluster, at its pace

The generator is deterministic: the same seed, rate, speed and start give the same bytes. The truth reads nothing but
those bytes, and shares no code with the generator or the job: three accounts of the same rules that have to agree.
"""
