import type { Parameters } from '../action/action.ts'
import { CHAT_ADMIN } from './chat/admin.ts'
import { CHAT_APPS } from './chat/apps.ts'
import { CHANNEL_FIELDS, FURTHER_CHANNEL_FIELDS } from './chat/channel-fields.ts'
import { CHAT_LOOK_UPS, hidesChannels, withExternalChannels } from './chat/external-channels.ts'
import { CHAT_BASICS } from './chat/rows.ts'
import type { Connector } from './connector.ts'
import { injectAuth } from './credentials/credentials.ts'
import { CHAT_IDENTITY } from './credentials/identity-reads.ts'
import { executeAddress, ownedDomains } from './domains.ts'
import { executeByRows } from './execute/to-request.ts'
import { CHAT_WORK } from './hosted-work/chat.ts'
import { compileWork } from './hosted-work/table.ts'
import { actionsBy } from './named-action.ts'
import { once } from './once.ts'
import { CHAT_ERROR } from './provider-error.ts'
import { prefixedSurface } from './rows/prefixed-surface.ts'
import { parseByRows, type RowClassifier, rowKeys, rowsAreOpaque } from './rows/row-connector.ts'
import { readRows } from './rows/row-table.ts'
import { compileRows } from './rows/row-trie.ts'

const rows = once(() => readRows('chat', [CHAT_BASICS, CHAT_APPS, CHAT_ADMIN]))
const trie = once(() => compileRows(rows()))
const DOMAINS = ['slack.com', 'api.slack.com', 'www.slack.com', 'files.slack.com']

/** Matches hosts of the chat API, including those of workspaces (`acme.slack.com`) and `mcp.slack.com`. */
export const CHAT_HOST = /^([^/]*[.])?slack(-gov)?[.]com$/

/** Hosts of incoming webhooks. Each path of these hosts posts to the one channel that a user chose for the webhook. */
export const WEBHOOK_HOSTS: readonly string[] = ['hooks.slack.com', 'hooks.slack-gov.com']

const CHAT_TOKEN = /xox[a-z][.-][\w.-]+/i

/** Returns the chat token in a credential, with or without a scheme; null if there is none. */
export function chatTokenIn(credential: string): string | null {
  return CHAT_TOKEN.exec(credential)?.[0] ?? null
}

const CLASSIFIER: RowClassifier = {
  connector: 'chat',
  formats: new Set(['json', 'form']),
  ...prefixedSurface(trie, 'api'),
  always: [...CHANNEL_FIELDS, ...FURTHER_CHANNEL_FIELDS],
  resource: channelOf,
}

function channelOf({ channel, channel_id, user, file }: Parameters): { target?: string } {
  const target = channel ?? channel_id ?? user ?? file
  return typeof target === 'string' ? { target } : {}
}

/**
 * Connector type of the team chat (Slack). The API accepts `/api/<method>` by any HTTP method, with parameters in the
 * query, a form or JSON.
 */
export const chat: Connector<'chat'> = {
  name: 'chat',
  label: { title: 'Slack (chat)', credential: 'Bot token' },
  providerError: CHAT_ERROR,
  domains: (config) => ownedDomains(config, DOMAINS),
  parseAction: (request, body, config) =>
    withExternalChannels(parseByRows(CLASSIFIER, request, body, config), hidesChannels(request, body)),
  decidingKeys: (request, config) => rowKeys(CLASSIFIER, request, config),
  hasOpaqueBody: (request, config) => rowsAreOpaque(CLASSIFIER, request, config),
  lookUps: CHAT_LOOK_UPS,
  hostedWork: compileWork(CHAT_WORK),
  injectCredentials: (edit, secret, auth) => injectAuth(edit, secret, auth),
  carriers: {
    headers: ['x-slack-token'],
    query: ['token'],
    documentedQuery: ['token'],
    bodyFields: ['token'],
    // Uploads go to a URL that is itself the credential, and the body is the file.
    contentPaths: ['/upload/'],
  },
  defaultAuth: { type: 'bearer' },
  get catalogue() {
    return rows()
  },
  prepare: () => void trie(),
  identityRead: CHAT_IDENTITY,
  impliedActions: (action) => actionsBy(action, withExternalChannels),
  toRequest: (spec, config) =>
    executeByRows(rows(), spec, { ...executeAddress(config, 'slack.com', 'api'), format: 'json' }),
}
