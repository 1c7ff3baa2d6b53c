! SPDX-License-Identifier: Apache-2.0
! A Fortran program: its calls reach C below the names that C programs use, in Open MPI as PMPI_X. Where there is an argument, each
! rank makes a file of that name and its own number, and deletes it.
program mpi_fortran
  use mpi
  implicit none
  integer, parameter :: n = 1000
  integer :: rank, ranks, ierr, i, turn, left, right, got, requests(2), status(MPI_STATUS_SIZE)
  real :: mine(n), total(n), moved(n)
  double precision :: d(3), largest(3)
  integer :: whole(4), all_sums(4), checks, unit
  character(1000) :: path
  logical :: there

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  checks = 0

  do turn = 1, 10
    do i = 1, n
      mine(i) = real(rank + turn + i)
    end do
    call MPI_Allreduce(mine, total, n, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierr)
    do i = 1, n
      call check(abs(total(i) - (ranks * (turn + i) + ranks * (ranks - 1) / 2)) <= 0, 'Allreduce')
    end do

    moved = -1
    call MPI_Irecv(moved, n, MPI_REAL, left, turn, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Isend(mine, n, MPI_REAL, right, turn, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    do i = 1, n
      call check(abs(moved(i) - (left + turn + i)) <= 0, 'Irecv')
    end do

    d = dble(rank) * (/ 1, -1, 2 /)
    call MPI_Reduce(d, largest, 3, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
    if (rank == 0) then
      call check(abs(largest(3) - 2 * (ranks - 1)) <= 0 .and. abs(largest(2)) <= 0, 'Reduce')
    end if

    whole = rank
    call MPI_Bcast(whole, 4, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, ierr)
    call check(all(whole == ranks - 1), 'Bcast')
    whole = rank + turn
    call MPI_Iallreduce(MPI_IN_PLACE, whole, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
    call check(all(whole == ranks * turn + ranks * (ranks - 1) / 2), 'Iallreduce in place')
    call MPI_Scan(whole, all_sums, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(all(all_sums == whole * (rank + 1)), 'Scan')

    call MPI_Sendrecv(mine, 10, MPI_REAL, right, 7, moved, n, MPI_REAL, left, 7, MPI_COMM_WORLD, status, ierr)
    call MPI_Get_count(status, MPI_REAL, got, ierr)
    call check(got == 10 .and. status(MPI_SOURCE) == left, 'Sendrecv')
    do i = 1, 10
      call check(abs(moved(i) - (left + turn + i)) <= 0, 'Sendrecv')
    end do
  end do

  if (command_argument_count() > 0) then
    call get_command_argument(1, path)
    write (path, '(2a, i0)') trim(path), '.', rank
    open (newunit=unit, file=path, status='new')
    close (unit)
    call MPI_File_delete(path, MPI_INFO_NULL, ierr)
    inquire (file=path, exist=there)
    call check(ierr == MPI_SUCCESS .and. .not. there, 'File_delete')
  end if

  write (*, '(a, i0, a, i0, a)') '[', rank, '] mpi_fortran: ok, ', checks, ' checks'
  call MPI_Finalize(ierr)

contains

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    integer :: code

    checks = checks + 1
    if (ok) return
    write (0, '(a, i0, 2a)') 'mpi_fortran: rank ', rank, ': WRONG: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, code)
  end subroutine check

end program mpi_fortran
