import * as z from 'zod'
import { ERRORS } from '../../core/errors.ts'
import { isRight, RIGHTS, type Right } from '../../core/wire/access/rights.ts'
import type { OpenApiReply } from '../../core/wire/health.ts'
import { HEADERS } from '../../core/wire/schema/limits.ts'
import type { Route, RouteAuth } from './route.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * Returns the OpenAPI 3.1 document of the routes below `/api` and of the probes. The document contains every possible
 * status of each route.
 */
export function openApiDocument(
  routes: readonly Route[],
  facts: { readonly version: string; readonly url: string },
): OpenApiReply {
  const described = routes.filter(({ path }) => /^\/(api\/|\.well-known\/|livez|readyz)/.test(path))
  const byPath = Map.groupBy(described, ({ path }) => path.replaceAll(/:(\w+)/g, '{$1}'))
  const paths = [...byPath].map(([path, list]) => [path, Object.fromEntries(list.map(operationEntry))])
  return {
    openapi: '3.1.0',
    info: { title: 'Chaperone control plane', version: facts.version },
    servers: [{ url: facts.url }],
    paths: Object.fromEntries(paths),
    components: { securitySchemes: SCHEMES, schemas: { Error: ERROR_SCHEMA } },
  }
}

function operationEntry(route: Route): [string, Json] {
  const { method, path, summary } = route
  const body = route.body && {
    requestBody: { required: true, content: jsonContent(schemaOf(route.body, 'input')) },
  }
  const operation = {
    operationId: `${method.toLowerCase()}${path.replaceAll(/[^A-Za-z0-9]+(\w?)/g, (_, first: string) => first.toUpperCase())}`,
    summary,
    tags: [path.split('/')[2] ?? 'probes'],
    security: securityOf(route.auth),
    ...(isRight(route.auth)
      ? {
          'x-required-right': route.auth,
          'x-minimum-role': RIGHTS[route.auth].role,
          'x-namespaced': route.isNamespaced === true,
        }
      : {}),
    parameters: [...parametersOf(route.params, 'path'), ...parametersOf(route.query, 'query')],
    ...body,
    responses: responsesOf(route),
  }
  return [method.toLowerCase(), operation]
}

function parametersOf(schema: z.ZodType | undefined, place: 'path' | 'query'): Json[] {
  if (schema === undefined) return []
  const { properties = {}, required = [] } = schemaOf(schema, 'input') as {
    properties?: Record<string, unknown>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, own]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: own,
  }))
}

function responsesOf(route: Route): Json {
  const schema = route.response === undefined ? { type: 'object' } : schemaOf(route.response, 'output')
  const content = route.produces === undefined ? jsonContent(schema) : textContent(route.produces)
  const success = { description: 'Done', headers: OUR_HEADERS, content }
  const failures = statusesOf(route).map((status) => [
    String(status),
    failure(status, route.failures?.[status]),
  ])
  return { '200': success, ...Object.fromEntries(failures) }
}

function failure(status: number, body?: z.ZodType): Json {
  const known = Object.values(ERRORS).find((error) => error.status === status)
  return {
    description: known?.error ?? 'Unavailable',
    headers: OUR_HEADERS,
    content: jsonContent(
      body === undefined ? { $ref: '#/components/schemas/Error' } : schemaOf(body, 'output'),
    ),
  }
}

/** Returns the error statuses of a route. Tests compare every response with these statuses. */
function statusesOf(route: Route): readonly number[] {
  const isWrite = route.method !== 'GET'
  const hasInput = route.params !== undefined || route.query !== undefined || route.body !== undefined
  const statuses = [
    ...(AUTH_STATUSES[route.auth] ?? [401, 403]),
    ...(hasInput ? [400] : []),
    ...(isWrite ? [400, 403, 404, 409, 413, 415] : []),
    ...(route.params === undefined ? [] : [404]),
    ...(route.statuses ?? []),
    421,
    // Status 431: the request line and the header fields exceed the limit.
    431,
    500,
    // Status 503: the database does not answer.
    503,
  ]
  return [...new Set(statuses)].sort((a, b) => a - b)
}

const AUTH_STATUSES: Partial<Readonly<Record<RouteAuth, readonly number[]>>> = {
  none: [],
  session: [401],
  agent: [401, 429],
  agent_or_admin: [401, 403, 429],
  gateway: [400, 401],
  operator: [401],
  maintenance: [401],
}

const BY_SESSION = [{ session: [] }]
const SECURITY: Readonly<Record<Exclude<RouteAuth, Right>, readonly Json[]>> = {
  none: [],
  session: BY_SESSION,
  agent: [{ agentKey: [] }],
  agent_or_admin: [{ agentKey: [] }, ...BY_SESSION],
  gateway: [{ gatewayToken: [] }],
  operator: [{ operatorToken: [] }],
  maintenance: [{ maintenanceSecret: [] }],
}

function securityOf(auth: RouteAuth): readonly Json[] {
  if (!isRight(auth)) return SECURITY[auth]
  return auth === 'approvals/answer' ? [...BY_SESSION, { approverKey: [] }] : BY_SESSION
}

const bearer = (description: string): Json => ({ type: 'http', scheme: 'bearer', description })
const SCHEMES: Json = {
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'svc_session',
    description: `From POST /api/auth/login. The session of a browser only reads, unless the request also has \`page_secret\` of that answer in the header \`${HEADERS.pageSecret}\``,
  },
  agentKey: bearer('svc_live_… or svc_test_…, shown once when the agent is created'),
  approverKey: bearer('svc_user_…'),
  gatewayToken: bearer("A gateway's enrolment token"),
  operatorToken: bearer(
    'The token of the operator, or of the process that watches MANIFESTS_DIR on one machine',
  ),
  maintenanceSecret: bearer('MAINTENANCE_SECRET'),
}

const ERROR_SCHEMA: Json = {
  type: 'object',
  required: ['error'],
  properties: {
    error: { type: 'string' },
    message: { type: 'string', description: 'What happened, why, and how to fix it' },
    details: {
      type: 'string',
      description: 'For a validation error: one `path: message` for each problem, joined by semicolons',
    },
    required_role: { type: 'string' },
    your_role: { type: 'string' },
    restriction: {
      enum: ['page_secret', 'machine_token', 'unchecked', 'break_glass'],
      description: 'Reason why the caller is read-only',
    },
    retry_after: { type: 'integer' },
  },
}

const OUR_HEADERS: Json = {
  [HEADERS.requestId]: { schema: { type: 'string' } },
  [HEADERS.version]: { schema: { type: 'string' } },
}

function jsonContent(schema: Json): Json {
  return { 'application/json': { schema } }
}

function textContent(type: string): Json {
  return { [type]: { schema: { type: 'string' } } }
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return json
}
