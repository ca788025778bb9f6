import { createHash } from 'node:crypto'
import { canonicalJson } from '../../core/action/spec.ts'
import { beginning, excerpt } from '../../core/excerpt.ts'

/** Characters of JSON. Pages of the audit log have up to 500 events, those of an export a thousand. */
const MAX_WHOLE = 32 * 1024
const MAX_FIELDS = 40
const MAX_NAME = 100
const MAX_VALUE = 500

/**
 * What an agent said about its action, for the audit log. Whole as long as it is of any usual size. Beyond that the
 * fields that are short, the beginnings of the others, and `<name>_bytes` and `<name>_sha256` of the canonical JSON
 * (RFC 8785) of everything: the action itself has the rest.
 */
export function saidDetails(
  name: 'parameters' | 'risk_hints',
  said: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (JSON.stringify(said).length <= MAX_WHOLE) return { [name]: said }
  const text = canonicalJson(said)
  const fields = Object.entries(said).slice(0, MAX_FIELDS)
  return {
    [name]: Object.fromEntries(
      fields.map(([field, value]) => [beginning(field, MAX_NAME), excerpt(value, MAX_VALUE)]),
    ),
    [`${name}_bytes`]: Buffer.byteLength(text),
    [`${name}_sha256`]: createHash('sha256').update(text).digest('hex'),
  }
}
