import type { Parameters } from '../action/action.ts'
import { type CanonicalRequest, isRefusal, type RawHeaders } from '../request/canonical.ts'
import type { AuthScheme, BodyView, Connector, ConnectorConfig, Row } from './connector.ts'
import type { CredentialCarriers } from './credentials/carriers.ts'
import { injectAuth } from './credentials/credentials.ts'
import { modelIdentity } from './credentials/identity-reads.ts'
import { executeAddress, ownedDomains } from './domains.ts'
import { executeByRows } from './execute/to-request.ts'
import { LLM_A_HANDLES } from './handles/llm-a.ts'
import { LLM_B_HANDLES } from './handles/llm-b.ts'
import { LLM_C_HANDLES } from './handles/llm-c.ts'
import { type CompiledHandles, compileHandles } from './handles/table.ts'
import { tableHandles } from './handles/table-handles.ts'
import { LLM_A_WORK } from './hosted-work/llm-a.ts'
import { LLM_B_WORK } from './hosted-work/llm-b.ts'
import { LLM_C_WORK } from './hosted-work/llm-c.ts'
import { compileWork, type HostedWork } from './hosted-work/table.ts'
import { LLM_A_AGENTS } from './llm/a-agents.ts'
import { LLM_A_FEDERATION } from './llm/a-federation.ts'
import { LLM_A_OBJECTS } from './llm/a-objects.ts'
import { LLM_A_ORGANIZATION } from './llm/a-organization.ts'
import { type ApiStyle, plainStyle, resourceStyle } from './llm/api-style.ts'
import { LLM_B_AGENTS } from './llm/b-agents.ts'
import { LLM_B_CLIENT } from './llm/b-client.ts'
import { LLM_B_ORGANIZATION } from './llm/b-organization.ts'
import { LLM_C_AGENTS } from './llm/c-agents.ts'
import { LLM_C_GRPC } from './llm/c-grpc.ts'
import { LLM_C_RETRIEVAL } from './llm/c-retrieval.ts'
import { eventsA, eventsB, eventsC, type ProviderEvents } from './llm/event-format.ts'
import { readResponseEvent, readResponseMessage } from './llm/response-messages.ts'
import { LLM_A_MODELS } from './llm/rows-a.ts'
import { LLM_B_MODELS } from './llm/rows-b.ts'
import { LLM_C_MODELS } from './llm/rows-c.ts'
import type { MessageProtocol } from './message-protocol.ts'
import { actionsOf } from './named-action.ts'
import { once } from './once.ts'
import { LLM_A_ERROR, LLM_B_ERROR, LLM_C_ERROR, type ProviderError } from './provider-error.ts'
import {
  actionsOfSpec,
  providerRows,
  unreadSocketActions,
  withProviderActions,
} from './provider-side/actions.ts'
import { type CompiledTable, compileTable } from './provider-side/table.ts'
import { LLM_A_PROVIDER_SIDE } from './provider-side/table-a.ts'
import { LLM_B_PROVIDER_SIDE } from './provider-side/table-b.ts'
import { LLM_C_PROVIDER_SIDE } from './provider-side/table-c.ts'
import { uploadReader } from './provider-side/upload.ts'
import { prefixedSurface } from './rows/prefixed-surface.ts'
import {
  describedMembers,
  parseByRows,
  type RowClassifier,
  rowKeys,
  rowsAreAnonymous,
  rowsAreOpaque,
} from './rows/row-connector.ts'
import { readRows } from './rows/row-table.ts'
import { compileRows } from './rows/row-trie.ts'

type Provider<Name extends string = string> = {
  readonly name: Name
  readonly title: string
  readonly providerError: ProviderError
  readonly domain: string
  readonly tables: readonly string[]
  readonly style: (rows: () => readonly Row[]) => ApiStyle
  readonly auth: AuthScheme
  readonly carriers: CredentialCarriers
  /** Action whose path also accepts a WebSocket with one request per message, and the reader of these messages. */
  readonly messages?: Omit<MessageProtocol, 'actions'> & { readonly type: string }
  /** Name of the provider's API over WebSockets whose messages the gateway does not read. */
  readonly unreadSocketApi?: string
  readonly eventFormat: ProviderEvents
  /** Fields by which a request makes the provider act, for example call tools (see `ProviderTable`). */
  readonly side: CompiledTable
  /** Handles in requests and responses: ids of provider resources. */
  readonly handles: CompiledHandles
  readonly work: HostedWork
  /** Headers that the API requires on every request. A request built from an action spec gets these values. */
  readonly demanded: RawHeaders
}

/**
 * Returns the form of an upload that the gateway read. Returns undefined for an upload without readable fields (a batch
 * file), and null for other bodies. An upload without readable fields is refused if a policy reads the body.
 */
function formOf(body: BodyView | undefined): BodyView | undefined | null {
  if (body?.kind !== 'opaque' || body.acts === undefined) return null
  return body.fields === undefined ? undefined : { kind: 'form', fields: body.fields }
}

/** Creates the function that classifies a request by rows, and an upload by the fields of its form. */
function rowsOrForm(classifier: RowClassifier) {
  const ofForms: RowClassifier = { ...classifier, formats: new Set(['json', 'form']) }
  return (request: CanonicalRequest, body: BodyView | undefined, config: ConnectorConfig) => {
    const form = formOf(body)
    return form === null
      ? parseByRows(classifier, request, body, config)
      : parseByRows(ofForms, request, form, config)
  }
}

/**
 * Creates the connector type of a language-model provider. Its API uses JSON; a key of the body, or the path, selects
 * streaming.
 */
function createModelConnector<Name extends string>(provider: Provider<Name>): Connector<Name> {
  const { name, title, domain, tables, carriers } = provider
  const rows = once(() => readRows(name, tables))
  const catalogue = once(() => [...rows(), ...providerRows(name)])
  const style = provider.style(rows)
  const trie = once(() => compileRows(style.rows(), style.aliases))
  const whole = prefixedSurface(trie, style.root)
  const surface: RowClassifier['surface'] = (request, config) => {
    const { tries, path } = whole.surface(request, config)
    return { tries, path: style.path(path) }
  }
  const classifier: RowClassifier = {
    connector: name,
    formats: new Set(['json']),
    surface,
    below(config) {
      const below = whole.below(config)
      const read = (segments: readonly string[]) => style.path({ segments, rawSegments: segments }).segments
      return below === null ? null : { ...below, read }
    },
    resource: modelOf,
  }
  const nameByRows = rowsOrForm(classifier)
  const find = { ...provider.side.find, ends: [...provider.side.find.ends, ...provider.handles.ends] }
  const handles = tableHandles(provider.handles)
  const uploads = { table: provider.side, find, handlesIn: handles.inMembers }
  return {
    name,
    label: { title, credential: 'API key' },
    providerError: provider.providerError,
    domains: (config) => ownedDomains(config, [domain]),
    parseAction: (request, body, config) => {
      const read = style.read(request, body)
      if (isRefusal(read)) return read
      const named = nameByRows(read.request, read.body, config)
      if (isRefusal(named)) return named
      const isUnread = rowsAreOpaque(classifier, request, config)
      return withProviderActions(provider.side, named, { body: read.body, isUnread, config })
    },
    ...messagesOf(provider, classifier),
    find,
    handles,
    hostedWork: provider.work,
    readUpload(request, config) {
      const named = parseByRows(classifier, request, undefined, config)
      return isRefusal(named) ? null : uploadReader(uploads, actionsOf(named), provider.handles.readForms)
    },
    decidingKeys: (request, config) => rowKeys(classifier, request, config),
    scannedMembers: (request, config) => describedMembers(classifier, request, config, style.body),
    hasOpaqueBody: (request, config) => rowsAreOpaque(classifier, request, config),
    needsNoCredential: (request, config) => rowsAreAnonymous(classifier, request, config),
    injectCredentials: (edit, secret, auth) => injectAuth(edit, secret, auth),
    ...fixedOf(provider),
    carriers,
    defaultAuth: provider.auth,
    eventFormat: provider.eventFormat,
    get catalogue() {
      return catalogue()
    },
    prepare: () => void trie(),
    impliedActions: (action, config) => actionsOfSpec(provider.side, action, config),
    toRequest: (spec, config) => {
      const address = executeAddress(config, domain, style.root)
      const request = executeByRows(style.rows(), spec, { ...address, format: 'json' })
      if (isRefusal(request)) return request
      const headers = [...request.headers, ...provider.demanded]
      return { ...request, target: style.target(request.target), headers }
    },
  }
}

function fixedOf({ name, unreadSocketApi, side }: Provider): Fixed {
  const identityRead = modelIdentity(name)
  const unreadActions: Connector['unreadActions'] = (config) => unreadSocketActions(side, config)
  const common = { identityRead, unreadActions }
  return unreadSocketApi === undefined ? common : { ...common, unreadSocketApi }
}

type Fixed = Pick<Connector, 'identityRead' | 'unreadActions' | 'unreadSocketApi'>

function messagesOf({ messages }: Provider, classifier: RowClassifier): Pick<Connector, 'messages'> {
  if (messages === undefined) return {}
  const { type, ...reader } = messages
  return {
    messages: {
      ...reader,
      actions(request, config) {
        const post = { ...request, method: 'POST', isUpgrade: false }
        const named = parseByRows(classifier, post, undefined, config)
        const actions = isRefusal(named) ? [] : actionsOf(named)
        return actions.some((action) => action.type === type) ? actions : null
      },
    },
  }
}

function modelOf({ id, model, tuned_model, dynamic_model }: Parameters): { target?: string } {
  const target = id ?? model ?? tuned_model ?? dynamic_model
  return typeof target === 'string' ? { target } : {}
}

export const llmA = createModelConnector({
  name: 'llm_a',
  title: 'OpenAI (llm_a)',
  providerError: LLM_A_ERROR,
  domain: 'api.openai.com',
  tables: [LLM_A_MODELS, LLM_A_OBJECTS, LLM_A_ORGANIZATION, LLM_A_AGENTS, LLM_A_FEDERATION],
  style: plainStyle,
  auth: { type: 'bearer' },
  eventFormat: eventsA,
  carriers: { headers: ['openai-api-key'], query: ['key', 'token'], bodyFields: [] },
  side: compileTable(LLM_A_PROVIDER_SIDE),
  handles: compileHandles(LLM_A_HANDLES),
  work: compileWork(LLM_A_WORK),
  messages: { type: 'llm_a.response.create', read: readResponseMessage, event: readResponseEvent },
  unreadSocketApi: 'Realtime API',
  demanded: [],
})

export const llmB = createModelConnector({
  name: 'llm_b',
  title: 'Anthropic (llm_b)',
  providerError: LLM_B_ERROR,
  domain: 'api.anthropic.com',
  tables: [LLM_B_MODELS, LLM_B_AGENTS, LLM_B_ORGANIZATION, LLM_B_CLIENT],
  style: plainStyle,
  auth: { type: 'header', header: 'x-api-key' },
  eventFormat: eventsB,
  carriers: {
    headers: ['anthropic-api-key', 'anthropic-auth-token'],
    query: ['key', 'token'],
    bodyFields: [],
  },
  side: compileTable(LLM_B_PROVIDER_SIDE),
  handles: compileHandles(LLM_B_HANDLES),
  work: compileWork(LLM_B_WORK),
  demanded: ['anthropic-version', '2023-06-01'],
})

export const llmC = createModelConnector({
  name: 'llm_c',
  title: 'Gemini (llm_c)',
  providerError: LLM_C_ERROR,
  domain: 'generativelanguage.googleapis.com',
  tables: [LLM_C_MODELS, LLM_C_RETRIEVAL, LLM_C_AGENTS, LLM_C_GRPC],
  style: resourceStyle,
  auth: { type: 'header', header: 'x-goog-api-key' },
  eventFormat: eventsC,
  carriers: {
    headers: ['x-goog-api-key', 'gemini-api-key', 'google-api-key'],
    query: ['key', '$key', 'token', '$access_token', '$oauth_token', 'bearer_token', '$bearer_token'],
    documentedQuery: ['key', '$key', 'access_token', '$access_token', 'oauth_token', '$oauth_token'],
    bodyFields: [],
  },
  side: compileTable(LLM_C_PROVIDER_SIDE),
  handles: compileHandles(LLM_C_HANDLES),
  work: compileWork(LLM_C_WORK),
  unreadSocketApi: 'Live API',
  demanded: [],
})
