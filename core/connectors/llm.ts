import type { Parameters } from '../action/action.ts'
import { isRefusal, type RawHeaders } from '../request/canonical.ts'
import type { AuthScheme, Connector, CredentialCarriers } from './connector.ts'
import { injectAuth } from './credentials.ts'
import { executeAddress, ownedDomains } from './domains.ts'
import { LLM_A_AGENTS } from './llm/a-agents.ts'
import { LLM_A_FEDERATION } from './llm/a-federation.ts'
import { LLM_A_OBJECTS } from './llm/a-objects.ts'
import { LLM_A_ORGANIZATION } from './llm/a-organization.ts'
import { LLM_B_AGENTS } from './llm/b-agents.ts'
import { LLM_B_ORGANIZATION } from './llm/b-organization.ts'
import { LLM_A_MODELS } from './llm/rows-a.ts'
import { LLM_B_MODELS } from './llm/rows-b.ts'
import { once } from './once.ts'
import { prefixedSurface } from './prefixed-surface.ts'
import { parseByRows, type RowNaming, rowKeys, rowsAreOpaque } from './row-connector.ts'
import { readRows } from './row-table.ts'
import { compileRows } from './row-trie.ts'
import { executeByRows } from './to-request.ts'

type Provider = {
  readonly name: string
  readonly domain: string
  readonly tables: readonly string[]
  readonly auth: AuthScheme
  readonly carriers: CredentialCarriers
  /** What the API demands of every request and an action spec does not say. */
  readonly demanded: RawHeaders
}

/** Both language-model providers: JSON over `/v1`, streamed or not by a key of the body. */
function createModelConnector(provider: Provider): Connector {
  const { name, domain, tables, carriers } = provider
  const rows = once(() => readRows(name, tables))
  const trie = once(() => compileRows(rows()))
  const surface = prefixedSurface(trie, 'v1')
  const naming: RowNaming = { connector: name, formats: new Set(['json']), surface, resource: modelOf }
  return {
    name,
    domains: (config) => ownedDomains(config, [domain]),
    parseAction: (request, body, config) => parseByRows(naming, request, body, config),
    decidingKeys: (request, config) => rowKeys(naming, request, config),
    hasOpaqueBody: (request, config) => rowsAreOpaque(naming, request, config),
    injectCredentials: (edit, secret, auth) => injectAuth(edit, secret, auth),
    carriers,
    defaultAuth: provider.auth,
    get catalogue() {
      return rows()
    },
    prepare: () => void trie(),
    toRequest: (spec, config) => {
      const request = executeByRows(rows(), spec, { ...executeAddress(config, domain, 'v1'), format: 'json' })
      return isRefusal(request)
        ? request
        : { ...request, headers: [...request.headers, ...provider.demanded] }
    },
  }
}

function modelOf({ id, model }: Parameters): { target?: string } {
  const target = id ?? model
  return typeof target === 'string' ? { target } : {}
}

export const llmA = createModelConnector({
  name: 'llm_a',
  domain: 'api.openai.com',
  tables: [LLM_A_MODELS, LLM_A_OBJECTS, LLM_A_ORGANIZATION, LLM_A_AGENTS, LLM_A_FEDERATION],
  auth: { type: 'bearer' },
  carriers: { headers: ['openai-api-key'], query: ['key', 'token'], bodyFields: [] },
  demanded: [],
})

export const llmB = createModelConnector({
  name: 'llm_b',
  domain: 'api.anthropic.com',
  tables: [LLM_B_MODELS, LLM_B_AGENTS, LLM_B_ORGANIZATION],
  auth: { type: 'header', header: 'x-api-key' },
  carriers: {
    headers: ['anthropic-api-key', 'anthropic-auth-token'],
    query: ['key', 'token'],
    bodyFields: [],
  },
  demanded: ['anthropic-version', '2023-06-01'],
})
