import { dirname } from 'node:path'
import { type JournalFiles, SYSTEM_FILES, syncFolders, syncFoldersNow } from './files.ts'

/** The file that is being appended to. Every method throws the system's own error. */
export type SegmentFile = {
  readonly path: string
  readonly bytes: number
  /** Into the page cache: survives the death of the process, not of the machine. A half-written line is taken back. */
  append(lines: Buffer): void
  /** Opens the path anew and proves that a block can be written. */
  reopen(): void
  /** To the disk, with the entry of its folder. Blocks. */
  sync(): void
  /** The same for all that was appended before, without blocking the event loop. */
  datasync(): Promise<void>
  /** To the disk and closed, without blocking the event loop. */
  retire(): Promise<void>
  close(): void
}

const PROBE = Buffer.alloc(4096, '\n')

/** The kernel may reuse the number of a descriptor that is closed during its flush: the last user closes it. */
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
  /** The folder has the entry on the disk. */
  let isLinked = false

  const write = (lines: Buffer): number => {
    const written = files.writeSync(file.fd, lines)
    if (written === lines.length) return written
    // A short write, as happens when the disk fills up: the second attempt names the reason.
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
        takeBack(files, file.fd, bytes)
        throw error
      }
    },
    reopen() {
      const old = file
      file = open()
      leave(old)
      isLinked = false
      write(PROBE)
      // One line break stays, so that what follows is not glued to a line that was cut off.
      bytes = files.sizeOf(file.fd) - PROBE.length + 1
      takeBack(files, file.fd, bytes)
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

/** Best effort by nature: readers skip torn lines and blank ones, so a failure here costs nothing. */
function takeBack(files: JournalFiles, fd: number, bytes: number): void {
  if (files.sizeOf(fd) > bytes) files.ftruncateSync(fd, bytes)
}
