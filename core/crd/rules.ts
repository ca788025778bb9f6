import { EFFECT_CLASSES, EFFECT_PREFIX } from '../action/effect-class.ts'
import { TYPES_WITHOUT_HOSTS } from '../connectors/registry.ts'
import { isPermissionPattern } from './action-patterns.ts'
import {
  hasOneExchange,
  hasOneSource,
  isMinted,
  MINTING_FIELDS,
  NOT_IN_CHAT,
  ONE_EXCHANGE,
  ONE_SOURCE,
  SOURCE_FIELDS,
} from './credentials/credential-spec.ts'
import { isPlainPath, PLAIN_PATH } from './credentials/local-source-spec.ts'
import { OAUTH2_RULES, type OAuth2Shape } from './credentials/oauth2-rules.ts'
import { MODEL_RULES, type ModelShape } from './model-rules.ts'
import type { SpecRule, SpecRules } from './spec-rules.ts'

type SelectorShape = {
  readonly matchLabels: Readonly<Record<string, string>>
  readonly matchExpressions: ReadonlyArray<{ readonly operator: string; readonly values: readonly string[] }>
}
type AdmittedShape = {
  readonly from: string
  readonly names: readonly string[]
  readonly selector?: SelectorShape | undefined
}
type AllowedShape = Readonly<Record<(typeof ADMITTED_KINDS)[number], AdmittedShape>>

type GatewayShape = {
  readonly allowedNamespaces?: AllowedShape | undefined
  readonly failurePolicy: {
    readonly highRiskAfterSeconds: number
    readonly writesAfterSeconds: number
    readonly everythingAfterSeconds: number
  }
}

const ADMITTED_KINDS = ['permissions', 'policies', 'connectors', 'agents'] as const

const ADMITTED_RULES = ADMITTED_KINDS.flatMap((kind): ReadonlyArray<SpecRule<GatewayShape>> => {
  const path = ['allowedNamespaces', kind]
  const field = `self.${path.join('.')}`
  const isAbsent = '!has(self.allowedNamespaces)'
  const isUnselected = `${isAbsent} || !has(${field}.selector)`
  const about = (holds: (admitted: AdmittedShape) => boolean) => (spec: GatewayShape) => {
    const admitted = spec.allowedNamespaces?.[kind]
    return admitted === undefined || holds(admitted)
  }
  return [
    {
      // `names` with `Same` or `All` is refused, because it would have no effect although it looks like a restriction.
      cel: `${isAbsent} || (${field}.from == 'Selector') == (has(${field}.selector) || ${field}.names.size() > 0)`,
      path,
      message:
        'selector and names must be set only with from: Selector, which needs at least one of them; change from, or add a selector or names',
      holds: about(
        ({ from, selector, names }) => (from === 'Selector') === (selector !== undefined || names.length > 0),
      ),
    },
    ...selectorRules<GatewayShape>({
      isAbsent: isUnselected,
      path: [...path, 'selector'],
      instead: 'use from: All',
      selectorOf: ({ allowedNamespaces }) => allowedNamespaces?.[kind].selector,
    }),
  ]
})

/**
 * Returns the rules for a label selector: the selector is not empty, and its expressions have values where their
 * operators need values. `isAbsent` is CEL that is true if there is no selector.
 */
function selectorRules<S>(given: {
  readonly isAbsent: string
  readonly path: readonly string[]
  readonly instead: string
  readonly selectorOf: (spec: S) => SelectorShape | undefined
}): ReadonlyArray<SpecRule<S>> {
  const { isAbsent, path, instead, selectorOf } = given
  const field = `self.${path.join('.')}`
  return [
    {
      cel: `${isAbsent} || ${field}.matchLabels.size() + ${field}.matchExpressions.size() > 0`,
      path,
      message: `must not be empty; add labels, or ${instead}`,
      holds: (spec) => {
        const selector = selectorOf(spec)
        return selector === undefined || sizeOf(selector) > 0
      },
    },
    {
      cel: `${isAbsent} || ${field}.matchExpressions.all(each, (each.operator in ['In', 'NotIn']) == (each.values.size() > 0))`,
      path: [...path, 'matchExpressions'],
      message: 'the operators In and NotIn need values; Exists and DoesNotExist must have none',
      holds: (spec) =>
        (selectorOf(spec)?.matchExpressions ?? []).every(
          ({ operator, values }) => ['In', 'NotIn'].includes(operator) === values.length > 0,
        ),
    },
  ]
}

function sizeOf({ matchLabels, matchExpressions }: SelectorShape): number {
  return Object.keys(matchLabels).length + matchExpressions.length
}

export const GATEWAY_RULES: SpecRules<GatewayShape> = {
  cross: [
    {
      cel: 'self.failurePolicy.highRiskAfterSeconds <= self.failurePolicy.writesAfterSeconds && self.failurePolicy.writesAfterSeconds <= self.failurePolicy.everythingAfterSeconds',
      path: ['failurePolicy'],
      message:
        'must have limits in this order: highRiskAfterSeconds <= writesAfterSeconds <= everythingAfterSeconds',
      holds: ({ failurePolicy: { highRiskAfterSeconds, writesAfterSeconds, everythingAfterSeconds } }) =>
        highRiskAfterSeconds <= writesAfterSeconds && writesAfterSeconds <= everythingAfterSeconds,
    },
    ...ADMITTED_RULES,
  ],
  lists: [
    { path: ['egress', 'allowedHosts'], keys: null },
    { path: ['egress', 'tcp'], keys: ['host', 'port'] },
    { path: ['killSwitch', 'scopes'], keys: ['kind', 'name'] },
    ...ADMITTED_KINDS.map((kind) => ({ path: ['allowedNamespaces', kind, 'names'], keys: null })),
  ],
}

type ConnectorShape = ModelShape & {
  readonly domains?: readonly string[] | undefined
  readonly baseUrl?: string | undefined
  readonly endpoint?: readonly string[] | undefined
  readonly auth?: { readonly type: string; readonly header?: string | undefined } | undefined
  readonly upstream: {
    readonly url?: string | undefined
    readonly allowPrivateAddresses: boolean
    readonly allowPlaintextCredential: boolean
  }
  readonly credential?:
    | (Parameters<typeof hasOneSource>[0] & {
        readonly oauth2?: OAuth2Shape | undefined
        readonly githubApp?: unknown
      })
    | undefined
  readonly tls: { readonly mode: string }
  readonly mcp?: { readonly tools?: readonly unknown[] | undefined } | undefined
  readonly actions: ReadonlyArray<{ readonly action: string }>
}

export const CONNECTOR_RULES: SpecRules<ConnectorShape> = {
  cross: [
    {
      cel: `!(self.type in [${TYPES_WITHOUT_HOSTS.map((type) => `'${type}'`).join(', ')}]) || has(self.baseUrl) || (has(self.domains) && self.domains.size() > 0)`,
      path: ['domains'],
      message: `types ${listOf(TYPES_WITHOUT_HOSTS)} have no default domains; set domains or baseUrl`,
      holds: ({ type, domains, baseUrl }) =>
        !TYPES_WITHOUT_HOSTS.includes(type) || baseUrl !== undefined || (domains?.length ?? 0) > 0,
    },
    {
      cel: "!has(self.endpoint) || self.type == 'mcp'",
      path: ['endpoint'],
      message: 'is for type mcp only; remove the field',
      holds: ({ type, endpoint }) => endpoint === undefined || type === 'mcp',
    },
    {
      cel: "!has(self.mcp) || !has(self.mcp.tools) || self.type == 'mcp'",
      path: ['mcp', 'tools'],
      message: 'is for type mcp only; remove the field',
      holds: ({ type, mcp }) => mcp?.tools === undefined || type === 'mcp',
    },
    ...MODEL_RULES,
    {
      cel: "!has(self.auth) || self.auth.type != 'header' || has(self.auth.header)",
      path: ['auth', 'header'],
      message: 'auth type header needs the name of the header, such as X-API-Key',
      holds: ({ auth }) => auth?.type !== 'header' || auth.header !== undefined,
    },
    {
      cel: "!has(self.upstream.url) || !self.upstream.url.startsWith('http:') || self.upstream.allowPrivateAddresses",
      path: ['upstream', 'url'],
      message:
        'is a plain http URL, which is for private addresses only; use https, or set allowPrivateAddresses: true',
      holds: ({ upstream }) => !upstream.url?.startsWith('http:') || upstream.allowPrivateAddresses,
    },
    {
      // The rule accepts only https. A rule that refuses `http:` could miss an unusual spelling of this scheme, which
      // clients may still accept.
      cel: "!has(self.credential) || !has(self.upstream.url) || self.upstream.url.lowerAscii().startsWith('https:') || self.upstream.allowPlaintextCredential || (has(self.auth) && self.auth.type == 'none')",
      path: ['upstream', 'url'],
      message:
        'is a plain http URL, so the credential would cross the network in clear text; use https, or set allowPlaintextCredential: true',
      holds: ({ credential, upstream: { url, allowPlaintextCredential }, auth }) =>
        credential === undefined ||
        url === undefined ||
        url.toLowerCase().startsWith('https:') ||
        allowPlaintextCredential ||
        auth?.type === 'none',
    },
    {
      cel: `!has(self.credential) || [${SOURCE_FIELDS.map((field) => `has(self.credential.${field})`).join(', ')}].exists_one(isSet, isSet)`,
      path: ['credential'],
      message: ONE_SOURCE,
      holds: ({ credential }) => credential === undefined || hasOneSource(credential),
    },
    {
      cel: '!has(self.credential) || !has(self.credential.oauth2) || !has(self.credential.githubApp)',
      path: ['credential'],
      message: ONE_EXCHANGE,
      holds: ({ credential }) => credential === undefined || hasOneExchange(credential),
    },
    {
      cel: `self.type != 'chat' || !has(self.credential) || ${MINTING_FIELDS.map((field) => `!has(self.credential.${field})`).join(' && ')}`,
      path: ['credential'],
      message: NOT_IN_CHAT,
      holds: ({ type, credential }) => type !== 'chat' || !isMinted(credential),
    },
    ...OAUTH2_RULES,
    {
      cel: "!has(self.credential) || !has(self.credential.file) || !self.credential.file.path.matches('/([.]{0,2})(/|$)')",
      path: ['credential', 'file', 'path'],
      message: PLAIN_PATH,
      holds: ({ credential }) => credential?.file === undefined || isPlainPath(credential.file.path),
    },
    {
      cel: "self.tls.mode != 'passthrough' || !has(self.credential)",
      path: ['credential'],
      message:
        'must not be set with tls.mode passthrough, where the gateway cannot add a credential; remove one of them',
      holds: ({ tls, credential }) => tls.mode !== 'passthrough' || credential === undefined,
    },
    {
      cel: "self.actions.all(row, row.action.startsWith(self.type + '.'))",
      path: ['actions'],
      message: 'every action must begin with the type of the connector and a dot',
      holds: ({ type, actions }) => actions.every(({ action }) => action.startsWith(`${type}.`)),
    },
  ],
  lists: [
    { path: ['domains'], keys: null },
    { path: ['ports'], keys: null },
    { path: ['endpoint'], keys: null },
    { path: ['actions'], keys: ['method', 'path'] },
    { path: ['mcp', 'tools'], keys: ['name'] },
    { path: ['credential', 'oauth2', 'scopesByAction'], keys: ['actionPattern'] },
  ],
  immutable: [
    {
      path: ['type'],
      message: 'is immutable; delete the Connector first, or create one with another name',
    },
  ],
}

/** Joins the names as `a, b and c`. */
function listOf(types: readonly string[]): string {
  return types.length < 2 ? types.join() : `${types.slice(0, -1).join(', ')} and ${types.at(-1)}`
}

type PermissionShape = { readonly rules: ReadonlyArray<{ readonly actionPattern: string }> }

const EFFECTS = EFFECT_CLASSES.map((effect) => `'${EFFECT_PREFIX}${effect}'`).join(', ')

export const PERMISSION_RULES: SpecRules<PermissionShape> = {
  cross: [
    {
      cel: `self.rules.all(rule, !rule.actionPattern.startsWith('${EFFECT_PREFIX}') || rule.actionPattern in [${EFFECTS}])`,
      path: ['rules'],
      message: `actionPattern must have, directly after ${EFFECT_PREFIX}, one of the effect classes ${EFFECT_CLASSES.join(', ')}`,
      holds: ({ rules }) => rules.every(({ actionPattern }) => isPermissionPattern(actionPattern)),
    },
  ],
  lists: [
    { path: ['agents'], keys: null },
    { path: ['rules'], keys: ['connectorType', 'actionPattern'] },
  ],
}

type PolicyShape = {
  readonly gatewayRefs?: readonly unknown[] | undefined
  readonly namespaceSelector?: SelectorShape | undefined
}

export const POLICY_RULES: SpecRules<PolicyShape> = {
  cross: [
    {
      cel: '!has(self.gatewayRefs) || !has(self.namespaceSelector)',
      path: ['namespaceSelector'],
      message: 'must not be set together with gatewayRefs; remove one of them, or create two Policies',
      holds: ({ gatewayRefs, namespaceSelector }) =>
        gatewayRefs === undefined || namespaceSelector === undefined,
    },
    ...selectorRules<PolicyShape>({
      isAbsent: '!has(self.namespaceSelector)',
      path: ['namespaceSelector'],
      instead: 'omit the field for all Gateways',
      selectorOf: ({ namespaceSelector }) => namespaceSelector,
    }),
  ],
  lists: [],
}
