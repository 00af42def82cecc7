"""`python -m tidelog_pipelines.ecommerce`, and what spark-submit is given."""

import sys

from tidelog_pipelines.ecommerce.job import main

if __name__ == "__main__":
    sys.exit(main())
