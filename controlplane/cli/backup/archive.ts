import { createReadStream, createWriteStream, existsSync, renameSync, rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'

/**
 * Schema of one line of a backup file. The file is gzip-compressed and has one JSON object per line. A file whose
 * last line is not of kind `end` is truncated.
 */
const Line = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('header'),
    format: z.literal('chaperone-backup'),
    version: z.literal(2),
    program: z.string(),
    created_at: z.string(),
    /** Id of the newest master key of the installation. */
    master_key_id: z.string(),
    /** Ids of all keys that encrypt credentials in the backup. Default: only `master_key_id`. */
    master_key_ids: z.array(z.string()).optional(),
    /** Id of the key from which other keys are derived. Default: `master_key_id`. */
    root_key_id: z.string().optional(),
    includes_master_key: z.boolean(),
    schema: z.array(z.number().int()),
  }),
  z.object({ kind: z.literal('file'), path: z.string(), mode: z.number().int(), base64: z.string() }),
  z.object({
    kind: z.literal('table'),
    table: z.object({ name: z.string(), columns: z.array(z.string()) }),
  }),
  z.object({ kind: z.literal('rows'), text: z.string(), count: z.number().int() }),
  z.object({ kind: z.literal('sequence'), sequence: z.object({ name: z.string(), value: z.string() }) }),
  z.object({ kind: z.literal('end') }),
])
export type ArchiveEntry = z.infer<typeof Line>
export type ArchiveHeader = Extract<ArchiveEntry, { kind: 'header' }>

/** Writes a backup file atomically, with mode 0600. Throws `conflict` when the file exists. */
export async function writeArchive(
  file: string,
  fill: (write: (line: ArchiveEntry) => Promise<void>) => Promise<void>,
): Promise<void> {
  if (existsSync(file))
    throw new ChaperoneError('conflict', { detail: `${file} already exists. Give another file name.` })
  const unfinished = `${file}.new`
  const zip = createGzip()
  const out = createWriteStream(unfinished, { mode: 0o600, flush: true })
  zip.on('error', (error) => out.destroy(error)).pipe(out)
  const written = finished(out)
  // Prevents an unhandled rejection before `written` is awaited.
  written.catch(() => undefined)
  const write = async (line: ArchiveEntry): Promise<void> => {
    if (zip.write(`${JSON.stringify(line)}\n`)) return
    await Promise.race([new Promise((resolve) => zip.once('drain', resolve)), written])
  }
  try {
    await fill(write)
    await write({ kind: 'end' })
    zip.end()
    await written
    renameSync(unfinished, file)
  } catch (error) {
    out.destroy()
    rmSync(unfinished, { force: true })
    throw error
  }
}

/** Reads the entries of a backup. Throws `conflict` when the file is not a backup or is truncated. */
export async function* readArchive(file: string): AsyncGenerator<ArchiveEntry> {
  let isWhole = false
  try {
    for await (const text of unzipped(file)) {
      const line = Line.parse(JSON.parse(text))
      if (line.kind === 'end') isWhole = true
      else yield line
    }
  } catch (error) {
    throw unreadable(file, error)
  }
  if (!isWhole) throw unreadable(file, new Error('the file is truncated'))
}

async function* unzipped(file: string): AsyncGenerator<string> {
  const source = createReadStream(file)
  const zip = createGunzip()
  source.on('error', (error) => zip.destroy(error)).pipe(zip)
  yield* createInterface({ input: zip, crlfDelay: Number.POSITIVE_INFINITY })
}

function unreadable(file: string, cause: unknown): unknown {
  if (cause instanceof ChaperoneError) return cause
  const isOurs = cause instanceof z.ZodError || cause instanceof SyntaxError
  const why = isOurs
    ? 'the file is not a backup of Chaperone'
    : cause instanceof Error
      ? cause.message
      : String(cause)
  return new ChaperoneError('conflict', {
    detail: `${file} cannot be read as a backup (${why}). Give a complete file that chaperone backup wrote.`,
    cause,
  })
}
