/**
 * Returns the options with which a pino logger adds the resource attributes to every line, as the member `resource`.
 * Without attributes, returns no options.
 */
export function resourceFields(env: Readonly<Record<string, string | undefined>>) {
  const resource = parseResourceAttributes(env['OTEL_RESOURCE_ATTRIBUTES'])
  return resource === null ? {} : { mixin: () => ({ resource }) }
}

/**
 * Parses `OTEL_RESOURCE_ATTRIBUTES` (`key=value,...`, percent-encoded). Returns null for an empty value, and, as the
 * specification of OpenTelemetry demands, for a value with any error.
 */
export function parseResourceAttributes(text: string | undefined): Readonly<Record<string, string>> | null {
  const pairs = (text ?? '').split(',').filter((pair) => pair.trim() !== '')
  const entries = pairs.map(entryOf)
  const valid = entries.filter((entry) => entry !== null)
  return valid.length === 0 || valid.length < entries.length ? null : Object.fromEntries(valid)
}

function entryOf(pair: string): readonly [string, string] | null {
  const [, key, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? []
  if (key === undefined || value === undefined) return null
  try {
    return [decodeURIComponent(key), decodeURIComponent(value)]
  } catch {
    return null
  }
}
