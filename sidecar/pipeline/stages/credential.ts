import type { Connector, OutboundEdit } from '../../../core/connectors/connector.ts'
import { bodyStripping, stripBodyFields } from '../../../core/connectors/credentials/credentials.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import { type CanonicalRequest, isRefusal } from '../../../core/request/canonical.ts'
import { headerValue } from '../../../core/request/headers.ts'
import type { BodyBudget } from '../body/body-budget.ts'
import type { Exchange, Stage, StageResult } from '../exchange.ts'
import { expiredReason, waitForSecret } from '../minted-secret.ts'
import { narrowToken } from '../narrowed-token.ts'
import { type Outgoing, outgoingOf } from '../outgoing.ts'
import type { PipelinePorts } from '../ports.ts'
import { refuseReading } from '../refusal/refuse.ts'
import type { Prepared } from '../request-template.ts'
import { type EchoForms, echoForms } from '../response/echo-forms.ts'
import { createEchoMask } from '../response/echo-mask.ts'
import { sentTokenOf } from '../sent-token.ts'

/**
 * Creates the stage that removes the agent's own credentials and injects that of the connector. No other stage uses a
 * secret.
 */
export function createCredential(ports: CredentialPorts, budget: BodyBudget): Stage {
  const deps = { budget, formsOf: createFormsCache(), ports }
  return {
    name: 'credential',
    run: (exchange) => replaceCredentials(exchange, deps),
  }
}

type CredentialPorts = Pick<PipelinePorts, 'clock' | 'snapshot' | 'credentials' | 'narrowed'>
type CredentialDeps = {
  readonly ports: CredentialPorts
  readonly budget: BodyBudget
  readonly formsOf: FormsCache
}

function replaceCredentials(
  exchange: Exchange,
  { budget, formsOf, ports }: CredentialDeps,
): StageResult | Promise<StageResult> {
  const { connector: bound, request, kind } = exchange
  if (kind === 'tunnel' || request === undefined) return 'continue'
  if (bound === undefined) {
    exchange.outbound = { rawHeaders: [...request.rawHeaders], rawTarget: request.rawTarget }
    return 'continue'
  }
  const given = { bound, request, budget, formsOf, ports }
  if (bound.entry.minted === undefined) return inject(exchange, given)
  const narrowed = narrowToken(exchange, ports)
  if (narrowed instanceof Promise)
    return narrowed.then((result) => (result === 'continue' ? injectMinted(exchange, given) : result))
  return narrowed === 'continue' ? injectMinted(exchange, given) : narrowed
}

type Injecting = CredentialDeps & { readonly bound: BoundConnector; readonly request: CanonicalRequest }

/** Injects a short-lived secret. Waits for one when the request is not sent with a narrowed token. */
function injectMinted(exchange: Exchange, given: Injecting): StageResult | Promise<StageResult> {
  const { bound, ports } = given
  const reason = sentTokenOf(exchange) === null ? expiredReason(bound.entry, ports.clock.nowMs()) : null
  return reason === null ? inject(exchange, given) : waitForSecret(exchange, ports, reason)
}

function inject(
  exchange: Exchange,
  { bound, request, budget, formsOf }: Injecting,
): StageResult | Promise<StageResult> {
  const { outgoing, forms } = prepare(exchange, { bound, request, formsOf })
  exchange.outbound = outgoing.edit
  if (outgoing.passesAgentCredential) return 'continue'
  if (forms !== null) {
    exchange.echoMask = createEchoMask({
      forms,
      hasBodies: bound.entry.scrubResponses === true,
      onMasked() {
        exchange.outcome.isEchoMasked = true
      },
    })
  }
  return stripBody(exchange, { bound, request, budget })
}

type Preparing = {
  readonly bound: BoundConnector
  readonly request: CanonicalRequest
  readonly formsOf: FormsCache
}

function prepare(exchange: Exchange, { bound, request, formsOf }: Preparing): Prepared {
  const { template, snapshot } = exchange
  const known = snapshot === undefined ? null : template?.prepared(request, snapshot)
  // Requests with an equal head may have different tokens, because the body determines their actions.
  if (known && isSent(exchange, bound, known)) return known
  const outgoing = outgoingOf(exchange, bound, request)
  const { edit, injected } = outgoing
  const sent = injected === null ? null : addCredential(edit, { ...injected, bound, request })
  const prepared = {
    outgoing,
    forms: injected === null || sent === null ? null : formsOf(bound, sent, injected.secret),
    headText: null,
  }
  if (snapshot !== undefined) template?.keep(request, snapshot, prepared)
  return prepared
}

function isSent(exchange: Exchange, bound: BoundConnector, { outgoing: { injected } }: Prepared): boolean {
  return injected === null || injected.secret === (sentTokenOf(exchange)?.secret ?? bound.entry.secret)
}

type Injection = NonNullable<Outgoing['injected']> & {
  readonly bound: BoundConnector
  readonly request: CanonicalRequest
}

/** Adds the credential and returns the values of the header fields that were added. */
function addCredential(edit: OutboundEdit, { bound, request, secret, scheme }: Injection): readonly string[] {
  const before = [...edit.rawHeaders]
  bound.connector.injectCredentials(edit, secret, scheme, request)
  return edit.rawHeaders.filter((text, at) => at % 2 === 1 && !before.includes(text))
}

type FormsCache = (bound: BoundConnector, sent: readonly string[], secret: string) => EchoForms

/**
 * Limit of cached forms for each connector. Most connectors send their credential in one or two ways; those with
 * narrowed tokens have several tokens. A connector that computes a value for each request must not fill the memory.
 */
const MAX_WAYS = 16

/** Header values with which a connector sent a credential, and the forms of that credential. */
type Way = { readonly secret: string; readonly sent: readonly string[]; readonly forms: EchoForms }

function createFormsCache(): FormsCache {
  const known = new WeakMap<BoundConnector, Way[]>()
  return (bound, sent, secret) => {
    const ways = known.get(bound) ?? []
    const way = ways.find((one) => one.secret === secret && isSame(one.sent, sent))
    if (way !== undefined) return way.forms
    const forms = echoForms(sent, secret)
    if (ways.length >= MAX_WAYS) ways.length = 0
    ways.push({ secret, sent, forms })
    known.set(bound, ways)
    return forms
  }
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, at) => text === b[at])
}

type Stripping = {
  readonly bound: BoundConnector
  readonly request: CanonicalRequest
  readonly budget: BodyBudget
}

function stripBody(
  exchange: Exchange,
  { bound, request, budget }: Stripping,
): StageResult | Promise<StageResult> {
  if (exchange.body.isEmpty) return 'continue'
  const care = bodyStripping(request, bound.connector)
  if (care.kind === 'stream') return 'continue'
  if (care.kind === 'refusal') return refuseReading(exchange, care)
  const { bodyBytes } = exchange
  if (bodyBytes !== undefined) return stripBytes(exchange, bound.connector, bodyBytes)
  return readBody(exchange, { bound, request, budget }, care.limit)
}

async function readBody(
  exchange: Exchange,
  { bound, budget }: Stripping,
  limit: number,
): Promise<StageResult> {
  const bytes = await budget.read(exchange, limit)
  if (bytes !== null) return stripBytes(exchange, bound.connector, bytes)
  const detail = `The body may contain a credential, so the gateway must read it. The body may have at most ${limit} bytes.`
  return refuseReading(exchange, { code: 'body_too_large', detail })
}

function stripBytes(exchange: Exchange, { carriers }: Connector, bytes: Buffer): StageResult {
  const contentType = headerValue(exchange.raw.rawHeaders, 'content-type')
  const stripped = stripBodyFields(bytes, contentType, carriers.bodyFields)
  if (isRefusal(stripped)) return refuseReading(exchange, stripped)
  exchange.bodyBytes = stripped.removed ? Buffer.from(stripped.bytes) : bytes
  return 'continue'
}
