import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { STARTER_DIR } from '../../controlplane/cli/up/starter-manifests.ts'
import { type Answer, type Recorder, replyJson, startRecorder } from './recorder.ts'
import { createTestCa } from './test-ca.ts'

/** Providers of the starter manifests by connector name: host, type, and the header in which the stored key arrives. */
export const PROVIDERS = {
  codehost: { host: 'api.github.com', type: 'codehost', header: 'authorization', scheme: 'token ' },
  'llm-a': { host: 'api.openai.com', type: 'llm_a', header: 'authorization', scheme: 'Bearer ' },
  'llm-b': { host: 'api.anthropic.com', type: 'llm_b', header: 'x-api-key', scheme: '' },
  'llm-c': {
    ...{ host: 'generativelanguage.googleapis.com', type: 'llm_c', header: 'x-goog-api-key', scheme: '' },
  },
  payments: { host: 'api.stripe.com', type: 'payments', header: 'authorization', scheme: 'Bearer ' },
  chat: { host: 'slack.com', type: 'chat', header: 'authorization', scheme: 'Bearer ' },
} as const
export type ProviderName = keyof typeof PROVIDERS

export const keyOf = (name: ProviderName): string => `key-of-${name}-0001`

const REPLIES: Readonly<Record<string, object>> = {
  'GET /user': { login: 'octo-release' },
  'GET /v1/account': { id: 'acct_1', business_profile: { name: 'Acme' } },
  'GET /api/auth.test': { ok: true, user: 'deploybot', team: 'Acme' },
}

/** A stand-in of all providers that accepts the stored keys only, and the starter manifests that lead to it. */
export async function startStarterProviders(): Promise<{
  readonly recorder: Recorder
  readonly manifests: Readonly<Record<string, string>>
}> {
  const ca = createTestCa()
  const hosts = Object.values(PROVIDERS).map(({ host }) => host)
  const recorder = await startRecorder({ tls: ca.issue(...hosts), answer })
  return { recorder, manifests: starterSet(recorder.port, ca.cert) }
}

const answer: Answer = (request, response, seen) => {
  const found = Object.entries(PROVIDERS).find(([, { host }]) => request.headers.host?.startsWith(host))
  const [name, { header, scheme }] = found ?? ['codehost', PROVIDERS.codehost]
  const isKnown = request.headers[header] === scheme + keyOf(name as ProviderName)
  const reply = REPLIES[`${request.method} ${request.url}`] ?? { data: [{ id: 'model-1' }] }
  if (isKnown) return replyJson(reply)(request, response, seen)
  const refusal =
    name === 'chat' ? replyJson({ ok: false, error: 'invalid_auth' }) : replyJson({ error: 'bad key' }, 401)
  return refusal(request, response, seen)
}

function starterSet(port: number, ca: string): Readonly<Record<string, string>> {
  const upstream = `  upstream:\n    url: https://127.0.0.1:${port}\n    allowPrivateAddresses: true\n    caBundle: |\n${ca.trim().replace(/^/gm, '      ')}\n`
  const files = readdirSync(STARTER_DIR).map(
    (file) => [file, readFileSync(join(STARTER_DIR, file), 'utf8')] as const,
  )
  return Object.fromEntries(
    files.map(([file, text]) => [
      file,
      text.replace(/^ {2}credential: \{ vault: .*\n/gm, (line) => line + upstream),
    ]),
  )
}
