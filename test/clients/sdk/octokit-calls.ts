import { Octokit } from '@octokit/rest'
import type { SdkCall } from './calls.ts'

type Endpoint = ((args: object) => Promise<unknown>) & {
  readonly endpoint: { readonly DEFAULTS: { readonly method: string; readonly url: string } }
}

const QUIET = { debug() {}, info() {}, warn() {}, error() {} }

/** Every method below `octokit.rest`: made from the service's own description, and it says from which operation. */
export function octokitCalls(fetch: typeof globalThis.fetch): readonly SdkCall[] {
  const octokit = new Octokit({ auth: 'placeholder', request: { fetch }, log: QUIET })
  const groups = octokit.rest as unknown as Readonly<Record<string, Readonly<Record<string, Endpoint>>>>
  return Object.entries(groups).flatMap(([group, methods]) =>
    Object.entries(methods).map(([name, method]) => {
      const { method: verb, url } = method.endpoint.DEFAULTS
      const template = url.replace(/^\{origin\}/, '').replace(/\{\?[^}]*\}$/, '')
      const values = [...template.matchAll(/\{([^}]+)\}/g)].map(([, key = '']) => [key, argumentFor(key)])
      const args = { ...Object.fromEntries(values), ...EXTRA[name] }
      const operation = { method: verb, shape: template }
      return { name: `${group}.${name}`, operation, invoke: () => method(args) }
    }),
  )
}

const EXTRA: Readonly<Record<string, object>> = {
  uploadReleaseAsset: { name: 'notes.txt', data: 'text' },
}

function argumentFor(key: string): string | number {
  if (/number/.test(key) || key === 'account_id' || key === 'user_id') return 7
  return key === 'enablement' ? 'enable_all' : 'made-up-1'
}
