import { close, closeSync, fstatSync, fsync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs'

/** The file that is being appended to. Every method throws the system's own error. */
export type SegmentFile = {
  readonly path: string
  readonly bytes: number
  /** Into the page cache: survives the death of the process, not of the machine. A half-written line is taken back. */
  append(lines: Buffer): void
  /** Opens the path anew and proves that a block can be written. */
  reopen(): void
  /** To the disk. */
  sync(): void
  /** To the disk and closed, without blocking the event loop. */
  retire(onError: (error: Error) => void): void
  close(): void
}

const PROBE = Buffer.alloc(4096, '\n')

export function openSegment(path: string): SegmentFile {
  let fd = openSync(path, 'a', 0o600)
  let bytes = fstatSync(fd).size

  const write = (lines: Buffer): number => {
    const written = writeSync(fd, lines)
    if (written === lines.length) return written
    // A short write, as happens when the disk fills up: the second attempt names the reason.
    const rest = lines.subarray(written)
    if (writeSync(fd, rest) !== rest.length) throw new Error(`short write to ${path}`)
    return lines.length
  }

  return {
    path,
    get bytes() {
      return bytes
    },
    append(lines) {
      try {
        bytes += write(lines)
      } catch (error) {
        takeBack(fd, bytes)
        throw error
      }
    },
    reopen() {
      closeSync(fd)
      fd = openSync(path, 'a', 0o600)
      write(PROBE)
      // One line break stays, so that what follows is not glued to a line that was cut off.
      bytes = fstatSync(fd).size - PROBE.length + 1
      takeBack(fd, bytes)
    },
    sync: () => fsyncSync(fd),
    retire(onError) {
      fsync(fd, (syncError) => {
        if (syncError) onError(syncError)
        close(fd, (closeError) => {
          if (closeError) onError(closeError)
        })
      })
    },
    close: () => closeSync(fd),
  }
}

/** Best effort by nature: readers skip torn lines and blank ones, so a failure here costs nothing. */
function takeBack(fd: number, bytes: number): void {
  const stat = fstatSync(fd)
  if (stat.isFile() && stat.size > bytes) ftruncateSync(fd, bytes)
}
