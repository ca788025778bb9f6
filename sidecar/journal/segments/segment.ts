import { dirname } from 'node:path'
import { type JournalFiles, SYSTEM_FILES, syncFolders, syncFoldersNow } from './files.ts'

/** An append-only file. Every method throws the system error. */
export type SegmentFile = {
  readonly path: string
  readonly bytes: number
  /**
   * Appends to the page cache, which survives a crash of the process but not of the machine. Removes a partly written
   * line by truncating the file.
   */
  append(lines: Buffer): void
  /** Reopens the path and verifies that a block can be written. */
  reopen(): void
  /** Flushes the file and its folder entry. Blocks the event loop. */
  sync(): void
  /** Flushes everything appended before, without blocking the event loop. */
  datasync(): Promise<void>
  /** Flushes and closes the file, without blocking the event loop. */
  retire(): Promise<void>
  close(): void
}

const PROBE = Buffer.alloc(4096, '\n')

/**
 * A file descriptor and the number of its users. The last user closes the descriptor. If the descriptor were closed
 * during a flush, the kernel could reuse its number for another file.
 */
type Descriptor = { readonly fd: number; users: number }

export function openSegment(path: string, files: JournalFiles = SYSTEM_FILES): SegmentFile {
  const dir = dirname(path)
  const open = (): Descriptor => ({ fd: files.openSync(path, 'a', 0o600), users: 1 })
  const leave = (descriptor: Descriptor): void => {
    descriptor.users--
    if (descriptor.users === 0) files.closeSync(descriptor.fd)
  }
  let file = open()
  let bytes = files.sizeOf(file.fd)
  /** True once the folder entry of the file is on disk. */
  let isLinked = false

  const write = (lines: Buffer): number => {
    const written = files.writeSync(file.fd, lines)
    if (written === lines.length) return written
    // The kernel writes only a part of the lines when the disk becomes full. The second attempt then throws the system
    // error.
    const rest = lines.subarray(written)
    if (files.writeSync(file.fd, rest) !== rest.length) throw new Error(`short write to ${path}`)
    return lines.length
  }

  const datasync = async (): Promise<void> => {
    const used = file
    used.users++
    try {
      await new Promise<void>((resolve, reject) => {
        files.fdatasync(used.fd, (error) => (error === null ? resolve() : reject(error)))
      })
      if (isLinked) return
      await syncFolders(files, dir)
      isLinked = true
    } finally {
      leave(used)
    }
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
        truncateTo(files, file.fd, bytes)
        throw error
      }
    },
    reopen() {
      const old = file
      file = open()
      leave(old)
      isLinked = false
      write(PROBE)
      // One line break of `PROBE` stays in the file, so that the next line is not appended to a truncated line.
      bytes = files.sizeOf(file.fd) - PROBE.length + 1
      truncateTo(files, file.fd, bytes)
    },
    sync() {
      files.fsyncSync(file.fd)
      if (!isLinked) syncFoldersNow(files, dir)
      isLinked = true
    },
    datasync,
    retire() {
      const synced = datasync()
      leave(file)
      return synced
    },
    close: () => leave(file),
  }
}

/**
 * Truncates the file if it is longer than `bytes`. A failure loses no record, because readers skip truncated and blank
 * lines.
 */
function truncateTo(files: JournalFiles, fd: number, bytes: number): void {
  if (files.sizeOf(fd) > bytes) files.ftruncateSync(fd, bytes)
}
