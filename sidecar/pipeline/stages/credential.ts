import type { Connector, OutboundEdit } from '../../../core/connectors/connector.ts'
import { bodyStripping, stripBodyFields } from '../../../core/connectors/credentials/credentials.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import { type CanonicalRequest, isRefusal } from '../../../core/request/canonical.ts'
import { headerValue } from '../../../core/request/headers/headers.ts'
import type { BodyReader } from '../body/body-reader.ts'
import { expiredReason } from '../credentials/minted-secret.ts'
import { narrowToken } from '../credentials/narrowed-token.ts'
import type { Exchange } from '../exchange.ts'
import { type Outgoing, outgoingOf, sentTokenOf } from '../outgoing.ts'
import { type HasOutbound, type Parsed, setOutbound } from '../phases.ts'
import type { PipelinePorts } from '../ports.ts'
import { refuseReading } from '../refusal/refuse.ts'
import type { Prepared } from '../request-template.ts'
import { type EchoForms, echoForms } from '../response/echo-forms.ts'
import { createEchoMask } from '../response/echo-mask.ts'
import type { Eventual, Stage, StageResult } from '../stage.ts'

type WithOutbound<Phase> = Phase & HasOutbound

export type CredentialDeps<Phase, Waited> = {
  readonly ports: Pick<PipelinePorts, 'clock' | 'narrowed'>
  readonly reader: BodyReader
  /** Called with the reason why the request cannot be sent with the credential of its snapshot. */
  readonly onExpired: (exchange: Phase, reason: string) => Eventual<Waited>
}

/**
 * Creates the stage that removes the agent's own credentials and injects the credential of the connector. No other
 * stage uses the credential of a connector.
 */
export function createCredential<Phase extends Parsed, Waited extends Exchange>(
  given: CredentialDeps<Phase, Waited>,
): Stage<Phase, WithOutbound<Phase> | Waited> {
  const deps = { ...given, formsOf: createFormsCache() }
  return {
    name: 'credential',
    run: (exchange) => replaceCredentials(exchange, deps),
  }
}

type Deps<Phase, Waited> = CredentialDeps<Phase, Waited> & { readonly formsOf: FormsCache }

function replaceCredentials<Phase extends Parsed, Waited>(
  exchange: Phase,
  deps: Deps<Phase, Waited>,
): Eventual<WithOutbound<Phase> | Waited> {
  const { connector: bound, request, kind } = exchange
  if (kind === 'tunnel' || bound === undefined) {
    return setOutbound(exchange, { rawHeaders: [...request.rawHeaders], rawTarget: request.rawTarget })
  }
  if (bound.entry.minted === undefined) return inject(exchange, bound, deps)
  const narrowed = narrowToken(exchange, bound, deps.ports)
  if (narrowed instanceof Promise)
    return narrowed.then((refusal) => refusal ?? injectMinted(exchange, bound, deps))
  return narrowed ?? injectMinted(exchange, bound, deps)
}

/**
 * Injects a short-lived credential. Calls `onExpired` when the credential has expired and no narrowed token is sent in
 * its place.
 */
function injectMinted<Phase extends Parsed, Waited>(
  exchange: Phase,
  bound: BoundConnector,
  deps: Deps<Phase, Waited>,
): Eventual<WithOutbound<Phase> | Waited> {
  const { ports, onExpired } = deps
  const reason = sentTokenOf(exchange) === null ? expiredReason(bound.entry, ports.clock.nowMs()) : null
  return reason === null ? inject(exchange, bound, deps) : onExpired(exchange, reason)
}

function inject<Phase extends Parsed>(
  exchange: Phase,
  bound: BoundConnector,
  { reader, formsOf }: { readonly reader: BodyReader; readonly formsOf: FormsCache },
): Eventual<WithOutbound<Phase>> {
  const { outgoing, forms } = prepare(exchange, bound, formsOf)
  const cleared = setOutbound(exchange, outgoing.edit)
  if (outgoing.passesAgentCredential) return cleared
  if (forms !== null) {
    exchange.echoMask = createEchoMask({
      forms,
      hasBodies: bound.entry.scrubResponses === true,
      onMasked() {
        exchange.outcome.isEchoMasked = true
      },
    })
  }
  return stripBody(cleared, bound, reader)
}

function prepare(exchange: Parsed, bound: BoundConnector, formsOf: FormsCache): Prepared {
  const { template, snapshot, request } = exchange
  const known = template?.prepared(request, snapshot)
  // Requests with an equal head may have different tokens, because the body determines their actions.
  if (known && isSent(exchange, bound, known)) return known
  const outgoing = outgoingOf(exchange, bound)
  const { edit, injected } = outgoing
  const sent = injected === null ? null : addCredential(edit, { ...injected, bound, request })
  const prepared = {
    outgoing,
    forms: injected === null || sent === null ? null : formsOf(bound, sent, injected.secret),
    headText: null,
  }
  template?.keep(request, snapshot, prepared)
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
 * Maximum number of cached header values with which a connector sent a credential, each with the forms in which an
 * upstream may echo the credential. Most connectors send their credential in one or two ways; connectors with narrowed
 * tokens have several tokens. The limit bounds the memory for a connector that computes a new value for each request.
 */
const MAX_WAYS = 16

/**
 * Header values with which a connector sent a credential, and the forms in which an upstream may echo the credential.
 */
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

function stripBody<Phase extends Parsed>(
  exchange: Phase,
  bound: BoundConnector,
  reader: BodyReader,
): Eventual<Phase> {
  if (exchange.body.isEmpty) return exchange
  const care = bodyStripping(exchange.request, bound.connector)
  if (care.kind === 'stream') return exchange
  if (care.kind === 'refusal') return refuseReading(exchange, care)
  const arrived = reader.arrived(exchange)
  if (arrived !== null) return stripBytes(exchange, bound.connector, arrived)
  return reader.read(exchange, care.limit).then((bytes) => {
    if (bytes !== null) return stripBytes(exchange, bound.connector, bytes)
    const detail = `The body may contain a credential, so the gateway must read it, but the body is longer than ${care.limit} bytes. Send a smaller body.`
    return refuseReading(exchange, { code: 'body_too_large', detail })
  })
}

function stripBytes<Phase extends Parsed>(
  exchange: Phase,
  { carriers }: Connector,
  bytes: Buffer,
): StageResult<Phase> {
  const contentType = headerValue(exchange.raw.rawHeaders, 'content-type')
  const stripped = stripBodyFields(bytes, contentType, carriers.bodyFields)
  if (isRefusal(stripped)) return refuseReading(exchange, stripped)
  exchange.bodyBytes = stripped.removed ? Buffer.from(stripped.bytes) : bytes
  return exchange
}
