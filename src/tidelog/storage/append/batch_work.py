"""The three kinds of jobs that batch workers do. None of them needs a file or a clock."""

from tidelog.storage.append.batch_pieces import BatchPiece, PieceJob, cut_piece
from tidelog.storage.append.batch_times import LookupJob, TimeAnswer, look_up
from tidelog.storage.append.preparation import PreparationJob, Prepared, Unprepared, prepare

BatchJob = PreparationJob | LookupJob | PieceJob
BatchResult = Prepared | Unprepared | TimeAnswer | BatchPiece


def do_batch_job(job: BatchJob) -> BatchResult:
    match job:
        case LookupJob():
            return look_up(job)
        case PieceJob():
            return cut_piece(job)
        case PreparationJob():
            return prepare(job)
