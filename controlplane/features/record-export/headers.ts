import { readFile } from 'node:fs/promises'
import { validateHeaderName, validateHeaderValue } from 'node:http'

/** Headers that the sender sets, because they describe the body. The headers file must not contain these headers. */
const RESERVED = new Set(['content-type', 'content-encoding', 'content-length', 'transfer-encoding', 'host'])

/**
 * Reads request headers from a file, one `Name: value` per line; empty lines and lines that start with `#` are skipped.
 * The file is read for each request, so that a changed Secret needs no restart. Error messages name the line and never
 * contain a value.
 */
export async function readHeaders(file: string | null): Promise<Readonly<Record<string, string>>> {
  if (file === null) return {}
  const lines = (await readText(file)).split(/\r?\n/)
  const headers = lines.flatMap((line, index) =>
    /^\s*(#|$)/.test(line) ? [] : [headerOf(line, `${file}:${index + 1}`)],
  )
  return Object.fromEntries(headers)
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new Error(`RECORD_EXPORT_HEADERS_FILE: ${file} cannot be read`, { cause })
  }
}

function headerOf(line: string, place: string): readonly [string, string] {
  const [, name = '', value = ''] = /^\s*([^:\s]+)\s*:\s*(.*?)\s*$/.exec(line) ?? []
  if (!isHeader(name, value))
    throw new Error(`RECORD_EXPORT_HEADERS_FILE: ${place} is not a header; write "Name: value"`)
  if (RESERVED.has(name.toLowerCase()))
    throw new Error(
      `RECORD_EXPORT_HEADERS_FILE: ${place} has the header ${name}, which the control plane sets itself; remove the line`,
    )
  return [name.toLowerCase(), value]
}

function isHeader(name: string, value: string): boolean {
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
    return true
  } catch {
    return false
  }
}
