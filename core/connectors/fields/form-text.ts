import { isRecord } from './fields.ts'

/** Encodes members as a form, with bracket notation for nested values: `metadata[order]=1`, `items[0][price]=p`. */
export function formText(members: Iterable<readonly [string, unknown]>): string {
  return [...members].flatMap(([name, value]) => formPairs(name, value)).join('&')
}

function formPairs(name: string, value: unknown): string[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value.flatMap((item, i) => formPairs(`${name}[${i}]`, item))
  if (isRecord(value))
    return Object.entries(value).flatMap(([key, inner]) => formPairs(`${name}[${key}]`, inner))
  return [`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`]
}
