import type { Action } from '../../../action/action.ts'
import { type CanonicalRequest, isRefusal, type Refusal, refusal } from '../../../request/canonical.ts'
import type { BodyView, CatalogueRow, Classification, ConnectorConfig } from '../../connector.ts'
import { isRecord } from '../../fields/fields.ts'
import { type GraphqlRequest, MAX_DOCUMENT_CHARS, readOperation } from './document.ts'
import { MILD } from './mutation-table.ts'
import { type Known, mutationActions } from './mutations.ts'
import { queryActions } from './reads.ts'

export const MAX_GRAPHQL_BATCH = 16
/** Allowed members of a GraphQL message. Other members could change the executed operation, so they are refused. */
const MEMBERS = ['query', 'operationName', 'variables', 'extensions']
/** Top-level keys of a GraphQL message that must be unique and in one spelling. */
export const GRAPHQL_KEYS: readonly string[] = [...MEMBERS, 'id', 'documentId', 'doc_id', 'queryId']

/**
 * Catalogue rows of GraphQL actions, for the dashboard and access rules. GraphQL operations that have the action name
 * of a REST operation are missing, because the REST rows already contain this name.
 */
export const GRAPHQL_CATALOGUE: readonly CatalogueRow[] = [
  { type: 'codehost.graphql.introspect', effect: 'read', risk: 'low' },
  ...['repository', 'node', 'nodes', 'search', 'viewer', 'user', 'organization', 'resource', 'topic'].map(
    (field): CatalogueRow => ({ type: `codehost.graphql.${field}`, effect: 'read', risk: 'low' }),
  ),
  ...[...MILD].map(
    ([field, risk]): CatalogueRow => ({ type: `codehost.graphql.${field}`, effect: 'write', risk }),
  ),
]

type Given = { readonly config: ConnectorConfig; readonly known: Known }

/**
 * Classifies a GraphQL request: one action for each root field of the executed operation, over all messages of a batch.
 * Requests that hide the document (a stored query, a form, a compressed body) are refused.
 */
export function nameGraphql(
  request: CanonicalRequest,
  body: BodyView | undefined,
  given: Given,
): Classification {
  if (request.method !== 'POST') {
    return refusal('malformed_request', 'a GraphQL request must be a POST with a JSON body')
  }
  const inQuery = request.query.find(([name]) => GRAPHQL_KEYS.includes(name))
  if (inQuery !== undefined) {
    return refusal(
      'ambiguous_request',
      `"${inQuery[0]}" is in the query of the URL; move it to the GraphQL body`,
    )
  }
  switch (body?.kind) {
    case undefined:
      return refusal(
        'malformed_request',
        'the GraphQL request has no body; send the query or mutation in a JSON body',
      )
    case 'form':
    case 'opaque':
    case 'head':
      return refusal('unsupported_body', 'a GraphQL request must have the Content-Type application/json')
    case 'absent':
      return refusal('malformed_request', 'a GraphQL request needs a body with a "query"')
    case 'invalid':
      return refusal('malformed_request', body.detail)
    case 'json':
      return nameMessages(body.value, given)
  }
}

function nameMessages(value: unknown, given: Given): Classification {
  const messages: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (messages.length === 0 || messages.length > MAX_GRAPHQL_BATCH) {
    return refusal('malformed_request', `a GraphQL batch must have 1 to ${MAX_GRAPHQL_BATCH} messages`)
  }
  if (charsOf(messages) > MAX_DOCUMENT_CHARS) {
    const detail = `the GraphQL documents of a batch may have at most ${MAX_DOCUMENT_CHARS} characters in total`
    return refusal('body_too_large', detail)
  }
  const actions: Action[] = []
  for (const message of messages) {
    const named = nameMessage(message, messages.length, given)
    if (isRefusal(named)) return named
    actions.push(...named)
  }
  return { kind: 'actions', actions }
}

function charsOf(messages: readonly unknown[]): number {
  return messages.reduce<number>((sum, message) => {
    const query = isRecord(message) ? message['query'] : undefined
    return sum + (typeof query === 'string' ? query.length : 0)
  }, 0)
}

function nameMessage(message: unknown, share: number, given: Given): readonly Action[] | Refusal {
  const asked = readMessage(message)
  if (isRefusal(asked)) return asked
  const operation = readOperation(asked, share)
  if (isRefusal(operation)) return operation
  const mine = { ...given, variables: operation.variables }
  const actions: Action[] = []
  for (const field of operation.fields) {
    const named =
      operation.kind === 'mutation'
        ? mutationActions(field, mine)
        : queryActions(field, { operation, given: mine })
    if (isRefusal(named)) return named
    actions.push(...named)
  }
  if (actions.length === 0) return refusal('malformed_request', 'the GraphQL operation selects no field')
  return SECRET_FIELD.test(asked.query) ? actions.map(withSecret) : actions
}

/**
 * Matches names of fields whose value is a credential: a token for cloning a repository, and codes that replace the
 * second factor at an identity provider. Names in GraphQL have no escapes, so the text of the document is sufficient.
 */
const SECRET_FIELD = /\b(?:tempCloneToken|recoveryCodes)\b/

function withSecret(action: Action): Action {
  const nameReason = 'The response contains a token or a recovery code.'
  return { ...action, risk: 'high', effects: [...(action.effects ?? []), 'credential_out'], nameReason }
}

function readMessage(message: unknown): GraphqlRequest | Refusal {
  if (!isRecord(message)) return refusal('malformed_request', 'a GraphQL message must be a JSON object')
  const { query, operationName = null, variables = {}, extensions } = message
  if (typeof query !== 'string' || query.trim() === '' || isStored(extensions)) {
    return refusal(
      'unsupported_body',
      'the gateway cannot check a persisted GraphQL query; send the whole document as "query"',
    )
  }
  const other = Object.keys(message).find((key) => !MEMBERS.includes(key))
  if (other !== undefined) {
    return refusal('unsupported_body', `"${other.slice(0, 80)}" is not part of a GraphQL message; remove it`)
  }
  const isName = operationName === null || typeof operationName === 'string'
  if (!isName || !(variables === null || isRecord(variables))) {
    return refusal('malformed_request', 'operationName must be a string, and variables an object')
  }
  // Servers treat an empty operation name as a missing one.
  return { query, operationName: operationName === '' ? null : operationName, variables: variables ?? {} }
}

function isStored(extensions: unknown): boolean {
  return isRecord(extensions) && extensions['persistedQuery'] !== undefined
}
