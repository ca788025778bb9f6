import { buildSchema, executeSync, parse } from 'graphql'
import { isRefusal } from '../../../core/request/canonical.ts'
import { boundOf, nameRequest } from '../connectors/golden.ts'
import type { GraphqlMessage } from './graphql-document.ts'

/** A server with these fields and nothing behind them: what its reference implementation runs is what happens. */
const SCHEMA = buildSchema(`
  scalar Any
  enum Type { ISSUE }
  type Done { clientMutationId: String }
  type Thing { login: String limit: Int remaining: Int name: String issueCount: Int id: ID }
  type Query {
    viewer: Thing rateLimit: Thing topic(name: String): Thing
    search(query: String, type: Type, first: Int): Thing node(id: ID): Thing
  }
  type Mutation {
    createIssue(input: Any): Done mergePullRequest(input: Any): Done addComment(input: Any): Done
    deleteRef(input: Any): Done closeIssue(input: Any): Done pinIssue(input: Any): Done inventedField(input: Any): Done
    updatePullRequest(input: Any): Done updateIssue(input: Any): Done
  }
`)

/** What each field is called, written down here once more. */
const NAMES: Readonly<Record<string, string>> = {
  createIssue: 'codehost.issue.create',
  mergePullRequest: 'codehost.pr.merge',
  addComment: 'codehost.issue_comment.create',
  deleteRef: 'codehost.branch.delete',
  closeIssue: 'codehost.issue.close',
  pinIssue: 'codehost.graphql.pinIssue',
  inventedField: 'codehost.graphql.inventedField',
  viewer: 'codehost.user.get_self',
  rateLimit: 'codehost.rate_limit.get',
  topic: 'codehost.graphql.topic',
  search: 'codehost.graphql.search',
  node: 'codehost.graphql.node',
}

function nameOf(field: string, args: Readonly<Record<string, unknown>>): string {
  const input = args['input'] as { readonly state?: unknown } | undefined
  const kind = field === 'updateIssue' ? 'issue' : 'pr'
  if (field === 'updateIssue' || field === 'updatePullRequest')
    return `codehost.${kind}.${input?.state === 'CLOSED' ? 'close' : 'update'}`
  return NAMES[field] ?? `unknown field ${field}`
}

/** The names of what a server runs. Introspection is answered by the implementation itself: it is seen in the answer. */
export function executed(message: GraphqlMessage): ReadonlySet<string> {
  const names = new Set<string>()
  const run = (field: string) => (args: Readonly<Record<string, unknown>>) => {
    names.add(nameOf(field, args))
    return {}
  }
  const fields = [...Object.keys(NAMES), 'updateIssue', 'updatePullRequest']
  const answer = executeSync({
    schema: SCHEMA,
    document: parse(message.query),
    rootValue: Object.fromEntries(fields.map((field) => [field, run(field)])),
    variableValues: message.variables,
    operationName: message.operationName ?? null,
  })
  if (answer.errors !== undefined) throw new Error(String(answer.errors[0]))
  if (JSON.stringify(answer.data).includes('queryType')) names.add('codehost.graphql.introspect')
  return names
}

const bound = boundOf('codehost')

/** The names that the request gets; null when it is refused. */
export function namedBy(message: GraphqlMessage | readonly GraphqlMessage[]): ReadonlySet<string> | null {
  const body = JSON.stringify(message)
  const rawHeaders = ['Host', 'api.github.com', 'Content-Type', 'application/json']
  const raw = {
    method: 'POST',
    target: '/graphql',
    rawHeaders,
    httpVersion: '1.1',
    scheme: 'https',
    sources: {},
  } as const
  const found = nameRequest(bound, raw, body)
  if (isRefusal(found)) return null
  if (found.kind !== 'actions') throw new Error('a document was given and its name is still open')
  return new Set(found.actions.map(({ type }) => type))
}
