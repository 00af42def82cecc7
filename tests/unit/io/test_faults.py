import errno

import pytest

from tidelog.io.faults import FAULTS, fault_of, translated
from tidelog.ports import errors
from tidelog.ports.errors import DeviceFault, IoError, NotEmpty, PathFault


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, errors.DiskFull),
        (errno.EDQUOT, errors.DiskFull),
        (errno.EIO, errors.IoError),
        (errno.EROFS, errors.ReadOnly),
        (errno.ENOENT, errors.NotFound),
        (errno.EEXIST, errors.AlreadyExists),
        (errno.ENOTEMPTY, errors.NotEmpty),
        (errno.EISDIR, errors.WrongKind),
        (errno.ENOTDIR, errors.WrongKind),
        (errno.EXDEV, errors.CrossDevice),
        (errno.ENAMETOOLONG, errors.NameTooLong),
        (errno.EACCES, errors.PermissionRefused),
        (errno.EPERM, errors.PermissionRefused),
        (errno.EMFILE, errors.TooManyOpenFiles),
        (errno.ENFILE, errors.TooManyOpenFiles),
        (errno.EUCLEAN, errors.IoError),  # not in the table: taken for a fault of the disk
    ],
)
def test_each_number_has_its_type(number: int, kind: type[errors.StorageFault]) -> None:
    fault = fault_of(OSError(number, "x"), "/data/log")
    assert type(fault) is kind
    assert fault.path == "/data/log"
    assert errno.errorcode[number] in fault.detail


def test_an_error_without_a_number_is_the_disks_fault() -> None:
    assert type(fault_of(OSError("strange"), "/x")) is IoError


def test_running_out_of_descriptors_takes_no_directory_offline() -> None:
    assert not issubclass(FAULTS[errno.EMFILE], DeviceFault | PathFault)


def test_the_cause_stays_visible_and_a_call_may_read_a_number_its_own_way() -> None:
    with pytest.raises(NotEmpty) as raised, translated("/x", {errno.EEXIST: NotEmpty}):
        raise FileExistsError(errno.EEXIST, "x")
    assert isinstance(raised.value.__cause__, FileExistsError)
