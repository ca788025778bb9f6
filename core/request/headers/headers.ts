import type { RawHeaders } from '../canonical.ts'

/** Returns the first value of the header field, or undefined. `lowerName` must be in lower case. */
export function headerValue(raw: RawHeaders, lowerName: string): string | undefined {
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (isNamed(raw[i], lowerName)) return raw[i + 1]
  }
  return undefined
}

/** Returns every value of the header field, in order. `lowerName` must be in lower case. */
export function headerValues(raw: RawHeaders, lowerName: string): string[] {
  const values: string[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (isNamed(raw[i], lowerName)) values.push(raw[i + 1] ?? '')
  }
  return values
}

function isNamed(name: string | undefined, lowerName: string): boolean {
  if (name === undefined || name.length !== lowerName.length) return false
  return name === lowerName || name.toLowerCase() === lowerName
}
