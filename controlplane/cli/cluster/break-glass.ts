import { parseArgs } from 'node:util'
import { ChaperoneError } from '../../../core/errors.ts'
import { BREAK_GLASS_KEY, MAX_BREAK_GLASS_MS } from '../../../core/wire/access/break-glass.ts'
import type { Kubectl } from './kubectl.ts'

const SECRET = 'chaperone-keys'
const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 60 * 60_000 }

type Secret = {
  readonly metadata: Readonly<Record<string, unknown>>
  readonly data?: Readonly<Record<string, string>>
}

/**
 * Enables the owner's token for a limited time, or disables the token (`--for 0`). The user of kubectl needs the rights
 * `get` and `update` on the Secret. Returns the time at which the token expires (ISO 8601); null when the token is
 * disabled.
 */
export async function breakGlass(
  kubectl: Kubectl,
  namespace: string,
  args: readonly string[],
): Promise<string | null> {
  const ms = duration(args)
  const secret = await kubectl.object<Secret>('secret', SECRET, '-n', namespace)
  if (secret === null) throw missing(namespace)
  const until = ms === 0 ? null : new Date(Date.now() + ms).toISOString()
  const { [BREAK_GLASS_KEY]: _, ...data } = secret.data ?? {}
  const entry = until === null ? {} : { [BREAK_GLASS_KEY]: Buffer.from(until).toString('base64') }
  // The object includes the resource version, so that the API server rejects the update if the Secret has changed since
  // it was read.
  await kubectl.input(JSON.stringify({ ...secret, data: { ...data, ...entry } }), 'replace', '-f', '-')
  return until
}

export function breakGlassText(until: string | null, namespace: string): string {
  if (until === null) return "The owner's token is closed."
  const template = '{{ index .data "admin.token" | base64decode }}'
  return [
    `The owner's token works until ${until}. Every use is in the audit log and on the page Overview.`,
    `Read it:  kubectl -n ${namespace} get secret ${SECRET} -o go-template='${template}'`,
    'Close it: kubectl chaperone break-glass --for 0',
  ].join('\n')
}

function duration(args: readonly string[]): number {
  const { values, positionals } = parseArgs({
    args: [...args],
    strict: false,
    allowPositionals: true,
    options: { for: { type: 'string' } },
  })
  const isKnown = positionals.length === 0 && Object.keys(values).every((name) => name === 'for')
  const given = typeof values.for === 'string' ? values.for : ''
  if (given === '0' && isKnown) return 0
  const [, count = '', unit = ''] = /^(\d{1,4})([mh])$/.exec(given) ?? []
  const ms = Number(count) * (UNIT_MS[unit] ?? Number.NaN)
  if (isKnown && ms > 0 && ms <= MAX_BREAK_GLASS_MS) return ms
  throw new ChaperoneError('validation', {
    detail: 'Give a duration from 1m to 24h, or 0 to close the token: kubectl chaperone break-glass --for 1h',
  })
}

function missing(namespace: string): ChaperoneError {
  return new ChaperoneError('not_found', {
    detail: `There is no Secret ${SECRET} in namespace ${namespace}. Give the namespace of the installation with --system-namespace.`,
  })
}
