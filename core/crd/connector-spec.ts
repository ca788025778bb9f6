import * as z from 'zod'
import {
  AgentTriggersSpec,
  AuthSpec,
  Bodies,
  ConnectorType,
  HandleRuleSpec,
  headerName,
  McpToolSpec,
  ProviderToolsSpec,
  UserRowSpec,
} from './connector-fields.ts'
import { CredentialSpec } from './credential-spec.ts'
import { described } from './described.ts'
import { endpointPath, GatewayRefs, host, httpUrl } from './fields.ts'

const Upstream = z.strictObject({
  url: described(
    httpUrl.optional(),
    'Address to which requests are sent instead of the host that the agent named, for example a mirror.',
    'https://mirror.example.com',
  ),
  caBundle: described(
    z.string().max(200_000).optional(),
    'Certificate authorities (PEM) that the upstream is verified against instead of the public ones.',
    '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----',
  ),
  allowPrivateAddresses: described(
    z.boolean().default(false),
    'Whether hosts of the Connector may resolve to private addresses.',
    true,
  ),
  allowPlaintextCredential: described(
    z.boolean().default(false),
    'Whether the credential may be sent to a `url` with plain http.',
    false,
  ),
})

export const ConnectorSpec = z.strictObject({
  type: described(
    ConnectorType,
    'Connector type: the provider whose requests are named (`codehost` GitHub, `llm_a` OpenAI, `llm_b` Anthropic, `llm_c` Gemini, `payments` Stripe, `chat` Slack), or `mcp`, `generic` and `webhook` for other servers.',
    'codehost',
  ),
  gatewayRefs: described(
    GatewayRefs.optional(),
    'Gateways that may use the Connector and its credential. Without it, all Gateways of the namespace may.',
    [{ name: 'default' }],
  ),
  domains: described(
    z.array(host).max(64).optional(),
    'Hosts that the Connector owns, `*.` for all subdomains. Without it, those of the type. Types without hosts need it, or `baseUrl`.',
    ['api.github.com', 'uploads.github.com'],
  ),
  baseUrl: described(
    httpUrl.optional(),
    'Address of a self-hosted instance, with its path prefix. Its host takes the place of the hosts of the type.',
    'https://git.example.com/api/v3',
  ),
  ports: described(
    z.array(z.int().min(1).max(65535)).min(1).max(16).default([443]),
    'Ports at which the Connector owns its hosts.',
    [443, 8443],
  ),
  auth: described(AuthSpec.optional(), 'Form of the credential in requests. Without it, that of the type.', {
    type: 'header',
    header: 'X-API-Key',
  }),
  credential: described(
    CredentialSpec.optional(),
    'Credential that the gateway adds to allowed requests. Agents never receive it. Without it, allowed requests are refused, unless `auth.type` is `none`.',
    { secretRef: { name: 'codehost', key: 'token' } },
  ),
  upstream: described(Upstream.prefault({}), 'Server behind the hosts of the Connector.'),
  tls: described(
    z
      .strictObject({
        mode: described(
          z.enum(['intercept', 'passthrough']).default('intercept'),
          '`intercept` terminates TLS and reads requests. `passthrough` forwards the connection unread as the action `TYPE.tunnel.open`, without a credential.',
          'passthrough',
        ),
      })
      .prefault({}),
    'TLS of agents to the hosts of the Connector.',
  ),
  errorShape: described(
    z.enum(['service', 'provider']).default('service'),
    'Format of refusals. `service`: that of Chaperone. `provider`: that of the errors of the provider, whose text SDKs show.',
    'provider',
  ),
  endpoint: described(
    z.array(endpointPath).min(1).max(16).optional(),
    'Type mcp: the only paths that accept JSON-RPC. Requests to other paths are unmapped.',
    ['/mcp'],
  ),
  mcp: described(
    z
      .strictObject({
        filterTools: described(
          z.boolean().default(false),
          'Whether answers to `tools/list` lose the tools that the agent may not call.',
          true,
        ),
        tools: described(
          z.array(McpToolSpec).max(512).optional(),
          'Effect classes of tools. Tools without an entry have none, whatever the server states about them: it is not trusted.',
          [{ name: 'delete_*', effects: ['delete'] }],
        ),
      })
      .optional(),
    'Settings of type mcp.',
  ),
  scrubResponses: described(
    z.boolean().default(false),
    'Whether the credential is also masked in text of response bodies. In response headers it always is.',
    true,
  ),
  bodies: described(
    Bodies.default('readable'),
    'Bodies of requests. `opaque`: they are files or have another format; a request can be held although the gateway cannot read its body, and the card states that. Bodies are also opaque where the row of the request says so.',
    'opaque',
  ),
  webSocketMessages: described(
    z.boolean().default(false),
    'Type llm_a: whether `/v1/responses` accepts a WebSocket, each message of which is decided as a request. Otherwise the upgrade is answered with 426.',
    true,
  ),
  providerTools: described(
    ProviderToolsSpec.optional(),
    'Types llm_a, llm_b and llm_c: servers, accounts and addresses that the provider may reach for a model request. Without it, none.',
    { allow: ['provider_tool.web_search'] },
  ),
  agentTriggers: described(
    AgentTriggersSpec.optional(),
    'Type codehost: accounts, labels and mentions that start agents, besides the known ones such as `@claude`. Requests with one have the effect class `delegate`. A `*` at the end matches any rest; case is ignored.',
    { labels: ['autofix'], mentions: ['acme-agent'] },
  ),
  handles: described(
    HandleRuleSpec.optional(),
    'Types llm_a, llm_b, llm_c and mcp: use of sessions, responses, files, threads and batches that the provider gave to another agent. `own` (the default) refuses it, `strict` also refuses unknown ones, `shared` allows it.',
    'strict',
  ),
  impersonationHeaders: described(
    z.array(headerName).max(32).default([]),
    'Headers that let a request act as another user and that agents may send. All others of that kind are refused with 400.',
    ['Impersonate-User'],
  ),
  keepQuery: described(
    z.array(z.string().min(1).max(64)).max(32).default([]),
    'Query parameters with the name of a credential that select a resource: they are forwarded instead of removed.',
    ['token'],
  ),
  pins: described(
    z.enum(['compare', 'send']).default('compare'),
    'Use of the approved state, such as the head commit of a merge. `compare` reads it again before the request is sent. `send` also adds it to the request, where the API accepts it.',
    'send',
  ),
  environment: described(
    z.string().min(1).max(64).optional(),
    'Environment of the resources behind the Connector, for scopes of policies and for risk.',
    'production',
  ),
  actions: described(
    z.array(UserRowSpec).max(512).default([]),
    'Names for requests that the catalogue does not have. Rows of the catalogue come first.',
    [
      {
        method: 'POST',
        path: '/v1/deployments/{id}/restart',
        action: 'generic.deployment.restart',
        effect: 'write',
        risk: 'medium',
      },
    ],
  ),
})

export type ConnectorSpec = z.infer<typeof ConnectorSpec>
