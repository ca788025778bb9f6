import * as z from 'zod'
import {
  AuthSpec,
  CONNECTOR_FIELDS,
  ConnectorType,
  ErrorShape,
  TlsMode,
  UserRowSpec,
} from './connector-fields.ts'
import { CredentialSpec } from './credentials/credential-spec.ts'
import { described } from './described.ts'
import { GatewayRefs, host, httpUrl } from './fields.ts'

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
    'Type of the connector: the provider of the API (`codehost` GitHub, `llm_a` OpenAI, `llm_b` Anthropic, `llm_c` Gemini, `payments` Stripe, `chat` Slack), or `mcp`, `generic` and `webhook` for other servers.',
    'codehost',
  ),
  gatewayRefs: described(
    GatewayRefs.optional(),
    'Gateways that may use the Connector and its credential. If absent, all Gateways of the namespace may use them.',
    [{ name: 'default' }],
  ),
  domains: described(
    z.array(host).max(64).optional(),
    'Hosts that the Connector owns; `*.` stands for all subdomains. If absent, the default hosts of the type. Types without default hosts need `domains` or `baseUrl`.',
    ['api.github.com', 'uploads.github.com'],
  ),
  baseUrl: CONNECTOR_FIELDS.baseUrl,
  ports: described(
    z.array(z.int().min(1).max(65535)).min(1).max(16).default([443]),
    'Ports of the hosts for which the Connector is used.',
    [443, 8443],
  ),
  auth: described(
    AuthSpec.optional(),
    'Form of the credential in requests. If absent, the usual form for the type of the Connector.',
    {
      type: 'header',
      header: 'X-API-Key',
    },
  ),
  credential: described(
    CredentialSpec.optional(),
    'Credential that the gateway adds to allowed requests. Agents never receive it. If absent, allowed requests are refused, unless `auth.type` is `none`.',
    { secretRef: { name: 'codehost', key: 'token' } },
  ),
  upstream: described(
    Upstream.prefault({}),
    'Server to which the gateway forwards requests for the hosts of the Connector.',
  ),
  tls: described(
    z
      .strictObject({
        mode: described(
          TlsMode.default('intercept'),
          '`intercept` terminates TLS and reads requests. `passthrough` forwards the connection without reading it, as the action `TYPE.tunnel.open` and without a credential.',
          'passthrough',
        ),
      })
      .prefault({}),
    'TLS of agents to the hosts of the Connector.',
  ),
  errorShape: described(
    ErrorShape.default('service'),
    'Format of refusals. `service`: the format of Chaperone. `provider`: the error format of the provider, whose text SDKs show.',
    'provider',
  ),
  endpoint: CONNECTOR_FIELDS.endpoint,
  mcp: CONNECTOR_FIELDS.mcp,
  scrubResponses: CONNECTOR_FIELDS.scrubResponses,
  bodies: CONNECTOR_FIELDS.bodies,
  webSocketMessages: CONNECTOR_FIELDS.webSocketMessages,
  providerTools: CONNECTOR_FIELDS.providerTools,
  agentTriggers: CONNECTOR_FIELDS.agentTriggers,
  handles: CONNECTOR_FIELDS.handles,
  impersonationHeaders: CONNECTOR_FIELDS.impersonationHeaders,
  keepQuery: CONNECTOR_FIELDS.keepQuery,
  pins: CONNECTOR_FIELDS.pins,
  environment: CONNECTOR_FIELDS.environment,
  actions: described(
    z.array(UserRowSpec).max(512).default([]),
    'Action names for requests that the catalogue of Chaperone does not have. Entries of the catalogue take precedence.',
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
