import { textBeginning } from '../../request/body/text-beginning.ts'
import type { RootMember, ScannedJson } from '../../request/json/json-scanner.ts'
import { exceedsJsonBounds } from '../../request/json/json-size.ts'
import type { BodyView } from '../connector.ts'

/**
 * Maximum sizes in bytes of the values that are parsed for the approval card: `one` for a single value, `all` for the
 * sum.
 */
const PARSED_BYTES = { one: 64 * 1024, all: 1024 * 1024 } as const
/** Maximum number of bytes that are decoded of a text that is too long to be parsed. */
const BEGINNING_BYTES = 2 * 1024

/**
 * Returns the members of a scanned body for the approval card. A long text is represented by its beginning, a long
 * object or list by its byte count.
 */
export function scannedFields(bytes: Uint8Array, { members, memberCount }: ScannedJson): BodyView {
  let left: number = PARSED_BYTES.all
  const fields = members.map((member): readonly [string, unknown] => {
    const length = member.end - member.start
    if (length > Math.min(left, PARSED_BYTES.one)) return [member.key, beginningOf(bytes, member)]
    left -= length
    const text = UTF8.decode(bytes.subarray(member.start, member.end))
    return [member.key, exceedsJsonBounds(text) ? notShown(length) : JSON.parse(text)]
  })
  const further = memberCount - members.length
  if (further > 0) fields.push(['further_fields', further])
  return { kind: 'json', value: Object.fromEntries(fields) }
}

const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true })
const QUOTE = 0x22

function beginningOf(bytes: Uint8Array, { start, end }: RootMember): string {
  const length = end - start
  if (bytes[start] !== QUOTE) return notShown(length)
  const text = textBeginning(bytes, { start, end }, BEGINNING_BYTES)
  return `${text.slice(0, SHOWN).toWellFormed()}… (${length} bytes)`
}

/** Number of characters that the card shows of a text that is too long to be parsed. */
const SHOWN = 450

function notShown(length: number): string {
  return `(not shown: ${length} bytes)`
}
