import * as z from 'zod'
import { EFFECT_CLASSES } from '../action/effect-class.ts'
import { PROVIDER_KIND_NAMES, REACHING_KINDS } from '../connectors/provider-side/kinds.ts'
import { CONNECTOR_TYPES } from '../connectors/registry.ts'
import { described } from './described.ts'
import { endpointPath, httpUrl } from './fields.ts'

// Fields of a Connector that gateways receive. They are not in the file of `ConnectorSpec`, because a gateway reads no
// manifests and would keep the schemas of all other fields in memory.

export const ConnectorType = z.enum(CONNECTOR_TYPES)

const headerName = z
  .string()
  .max(64)
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'a header name such as X-API-Key')

export const AuthSpec = z.strictObject({
  type: described(
    z.enum(['bearer', 'token', 'basic', 'header', 'none']),
    'Form of the credential in requests. `bearer` and `token`: the header `Authorization` with this scheme. `basic`: Basic authentication. `header`: the header that the field `header` names. `none`: requests are sent without a credential.',
    'header',
  ),
  header: described(
    headerName.optional(),
    'Name of the header that carries the credential, for type `header` only, which requires it.',
    'X-API-Key',
  ),
  username: described(
    z.string().max(256).optional(),
    'User name for type `basic`. If absent, the credential is either `user:password`, or a key that is sent as the user name.',
    'deploy',
  ),
})

export const TlsMode = z.enum(['intercept', 'passthrough'])
export const ErrorShape = z.enum(['service', 'provider'])

/**
 * `readable`: the gateway reads request bodies. `opaque`: bodies are files or have other formats, and the gateway does
 * not read them.
 */
const Bodies = z.enum(['readable', 'opaque'])

export const UserRowSpec = z.strictObject({
  method: described(
    z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']),
    'HTTP method of the requests.',
    'POST',
  ),
  path: described(
    z.string().min(1).max(500).regex(/^\//, 'a path template such as /v1/things/{id}'),
    'Template of the path of the requests. A segment in braces matches any value and becomes a parameter of the action.',
    '/v1/deployments/{id}/restart',
  ),
  action: described(
    z
      .string()
      .max(300)
      .regex(/^[a-z0-9_]+(\.[A-Za-z0-9_~-]+)+$/, 'connector.resource.verb'),
    'Name of the action. It begins with the type of the Connector and a dot.',
    'generic.deployment.restart',
  ),
  effect: described(
    z.enum(['read', 'compute', 'write']),
    'Effect of the action. `read` changes nothing, `compute` costs but changes nothing, `write` is everything else.',
    'write',
  ),
  risk: described(z.enum(['low', 'medium', 'high']), 'Risk of the action.', 'medium'),
  effects: described(
    z.array(z.enum(EFFECT_CLASSES)).max(EFFECT_CLASSES.length).optional(),
    'Effect classes of the action, for conditions on `action.effects` and permissions such as `effect:delete`.',
    ['code_execution'],
  ),
  bodies: described(
    Bodies.optional(),
    'How the gateway treats the bodies of these requests; the values are those of `bodies` of the Connector. If absent, the value of the Connector.',
    'opaque',
  ),
})

const McpToolSpec = z.strictObject({
  name: described(
    z
      .string()
      .min(1)
      .max(256)
      .regex(/^[^*]*\*?$/, 'the name of a tool such as delete_repo, or a prefix such as delete_*'),
    'Name of a tool, or a prefix of names followed by `*`. Case is ignored.',
    'delete_*',
  ),
  effects: described(
    z.array(z.enum(EFFECT_CLASSES)).min(1).max(EFFECT_CLASSES.length),
    'Effect classes of calls of the tool, for conditions on `action.effects` and permissions such as `effect:delete`. A tool that several entries match has the classes of all of them.',
    ['delete'],
  ),
})

const HandleRuleSpec = z.enum(['own', 'shared', 'strict'])

const ProviderToolsSpec = z.strictObject({
  allow: described(
    z.array(z.enum(REACHING_KINDS)).max(REACHING_KINDS.length).default([]),
    'Kinds of tools and fetches that a model request may contain. All others are denied.',
    ['provider_tool.web_search'],
  ),
  deny: described(
    z.array(z.enum(PROVIDER_KIND_NAMES)).max(PROVIDER_KIND_NAMES.length).optional(),
    'Kinds that are always denied, whatever permissions and policies say. Kinds that `allow` lacks are denied too.',
    ['provider_tool.code', 'batch.run'],
  ),
})

/** Name pattern: a whole name, or a prefix followed by `*`. */
const namePattern = z
  .string()
  .min(1)
  .max(100)
  .regex(
    /^(\*|[^*\s]([^*]{0,98}[^*\s])?|[^*\s][^*]{0,98}\*)$/,
    'a name such as acme-agent, or a prefix such as acme-*',
  )

const AgentTriggersSpec = z.strictObject({
  accounts: described(
    z.array(namePattern).max(64).default([]),
    'Accounts that are agents, for codehost. An agent starts when an issue is assigned to its account or a review is requested from it. `app/` before a name and `[bot]` after a name are ignored.',
    ['acme-agent', 'acme-fixer-*'],
  ),
  labels: described(z.array(namePattern).max(64).default([]), 'Labels that start an agent, for codehost.', [
    'autofix',
    'bot:*',
  ]),
  mentions: described(
    z
      .array(
        z
          .string()
          .min(1)
          .max(100)
          .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,98}\*?$/, 'a name without @ or /, such as acme-agent'),
      )
      .max(64)
      .default([]),
    'Names that start an agent after `@` or `/` in a title, a text or a comment; for chat the ids or names of users and user groups in messages, such as `U012ABCDEF`.',
    ['acme-agent', 'acme/fixers'],
  ),
})

/**
 * Fields of a Connector that gateways receive under the same name. A field with its default value is absent from the
 * configuration that the control plane sends.
 */
export const CONNECTOR_FIELDS = {
  baseUrl: described(
    httpUrl.optional(),
    'Address of a self-hosted instance, with its path prefix. Its host replaces the default hosts of the type.',
    'https://git.example.com/api/v3',
  ),
  endpoint: described(
    z.array(endpointPath).min(1).max(16).optional(),
    'For type mcp: the only paths at which requests are read as JSON-RPC. Requests to other paths are unmapped actions.',
    ['/mcp'],
  ),
  mcp: described(
    z
      .strictObject({
        filterTools: described(
          z.boolean().default(false),
          'Whether the gateway removes the tools that the agent may not call from answers to `tools/list`.',
          true,
        ),
        tools: described(
          z.array(McpToolSpec).max(512).optional(),
          'Effect classes of tools. A tool without an entry has no effect class, because statements of the server about its tools are not trusted.',
          [{ name: 'delete_*', effects: ['delete'] }],
        ),
      })
      .optional(),
    'Settings of type mcp.',
  ),
  scrubResponses: described(
    z.boolean().default(false),
    'Whether the gateway also masks the credential in text of response bodies. In response headers, the credential is always masked.',
    true,
  ),
  bodies: described(
    Bodies.default('readable'),
    'Treatment of request bodies. With `opaque`, bodies are files or have another format: a request can be held for an approval although the gateway cannot read its body, and the approval card states this. Some actions of the catalogue always have opaque bodies.',
    'opaque',
  ),
  webSocketMessages: described(
    z.boolean().default(false),
    'For type llm_a: whether `/v1/responses` accepts a WebSocket. The gateway decides on each of its messages as on a request. With `false`, the upgrade is refused with 426.',
    true,
  ),
  providerTools: described(
    ProviderToolsSpec.optional(),
    'For types llm_a, llm_b and llm_c: servers, accounts and addresses that the provider may reach for a model request. By default, the provider may reach none.',
    { allow: ['provider_tool.web_search'] },
  ),
  agentTriggers: described(
    AgentTriggersSpec.optional(),
    'For types codehost and chat: accounts, labels and mentions that start agents; for codehost in addition to known ones such as `@claude`. A request that contains one of them has the effect class `delegate`. A `*` at the end of a name matches any rest; case is ignored.',
    { labels: ['autofix'], mentions: ['acme-agent'] },
  ),
  handles: described(
    HandleRuleSpec.optional(),
    'For types llm_a, llm_b, llm_c and mcp: whether an agent may use sessions, responses, files, threads and batches that another agent created at the provider. `own` (the default) refuses this. `strict` also refuses those whose creator is unknown. `shared` allows all.',
    'strict',
  ),
  impersonationHeaders: described(
    z.array(headerName).max(32).default([]),
    'Headers with which agents may act as another user. Requests with another header of this kind are refused with 400.',
    ['Impersonate-User'],
  ),
  keepQuery: described(
    z.array(z.string().min(1).max(64)).max(32).default([]),
    'Query parameters that have the name of a credential but select a resource. The gateway forwards them instead of removing them.',
    ['token'],
  ),
  pins: described(
    z.enum(['compare', 'send']).default('compare'),
    'How the gateway verifies that the state that the approver saw, such as the head commit of a merge, is unchanged. `compare` reads the state again before the request is sent. `send` also adds the state to the request, where the API accepts it.',
    'send',
  ),
  environment: described(
    z.string().min(1).max(64).optional(),
    'Environment of the resources behind the Connector, for scopes of policies and for risk.',
    'production',
  ),
}
