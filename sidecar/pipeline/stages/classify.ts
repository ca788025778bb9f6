import { classify, decidingKeys, nameMessageSocket, needsBody } from '../../../core/connectors/classify.ts'
import type { BodyView, Classification } from '../../../core/connectors/connector.ts'
import { judgeImpersonation } from '../../../core/connectors/credentials/impersonation.ts'
import type { HeadReader, UploadReader } from '../../../core/connectors/fields/body-readers.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import { judgedActions } from '../../../core/decision/decide.ts'
import { judgeLabel, parseBody } from '../../../core/request/body/body.ts'
import { type CanonicalRequest, isRefusal, type Refusal } from '../../../core/request/canonical.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { areAskedFor, hasReadableBody, judgeHiddenFacts, needsTrees } from '../body/body-facts.ts'
import { type BodyReader, hasArrived } from '../body/body-reader.ts'
import { judgeUnscanned, membersToScan, scanBody } from '../body/body-scan.ts'
import type { InflateBudget } from '../body/inflate-budget.ts'
import { tooLong, withPolicies } from '../body/too-large.ts'
import { staysUnread } from '../body/unread-body.ts'
import {
  cachedDecisionsFor,
  decideProvisional,
  decideWithBody,
  hasMore,
  validDecision,
} from '../classification/exchange-decision.ts'
import {
  classifyByRequestLine,
  isSettledByBody,
  type ProvisionalClassification,
} from '../classification/provisional-classification.ts'
import { classifyUpload, uploadReaderOf, uploadType } from '../classification/upload-classification.ts'
import type { Pacer } from '../pacer.ts'
import { type Classified, type Governed, setActions, setDecision } from '../phases.ts'
import type { PipelinePorts } from '../ports.ts'
import { refuseReading } from '../refusal/refuse.ts'
import type { Stage, StageResult } from '../stage.ts'

/**
 * Creates the stage that classifies the request. The stage reads the body only when the decision depends on it or the
 * connector requires a scan. When all candidates get the same decision, the body is streamed instead.
 */
export function createClassify(deps: ClassifyDeps): Stage<Governed, Classified> {
  return {
    name: 'classify',
    run(exchange) {
      const { connector: bound, request, body } = exchange
      const impersonation = judgeImpersonation(bound, request)
      if (impersonation !== null) return refuseReading(exchange, impersonation)
      const head = body.isEmpty ? undefined : bound.connector.readsHead?.(request, bound.config)
      const given = { bound, request, deps }
      return head ? nameByHead(exchange, { ...given, head }) : name(exchange, given)
    },
  }
}

export type ClassifyDeps = {
  readonly ports: PipelinePorts
  readonly pacer: Pacer
  readonly reader: BodyReader
  readonly inflateBudget: InflateBudget
}

type Result = StageResult<Classified>

type Given = {
  readonly bound: BoundConnector
  readonly request: CanonicalRequest
  readonly deps: ClassifyDeps
  /** Classification by the request line; set when the body is read although the line classifies the request. */
  readonly provisional?: ProvisionalClassification
  /** Refusal of an upload without readable fields; set if a policy needs facts of the body. */
  readonly hidden?: Refusal
}

function name(exchange: Governed, given: Given): Result | Promise<Result> {
  const { bound, request } = given
  if (wasRead(exchange)) return readAndClassify(exchange, given)
  const provisional = classifyByRequestLine(bound, request, exchange.body.isEmpty)
  if (!isRefusal(provisional)) return classifyByBody(exchange, provisional, given)
  nameUnserved(exchange, given)
  // Some requests can only be classified by their body (MCP, GraphQL). Other unclassified requests are refused.
  return needsBody(bound, request) ? readAndClassify(exchange, given) : refuseReading(exchange, provisional)
}

/** Uses the classification by the request line, unless a rule or the connector needs the body. */
function classifyByBody(
  exchange: Governed,
  provisional: ProvisionalClassification,
  given: Given,
): Result | Promise<Result> {
  const { bound, request, deps } = given
  const { ports } = deps
  const mayAct = !exchange.body.isEmpty && bound.connector.bodyMayAct?.(request, bound.config) === true
  if (mayAct && mayBeSent(exchange, provisional, ports))
    return readAndClassify(exchange, { ...given, provisional })
  const isAsked =
    !exchange.body.isEmpty && areAskedFor(cachedDecisionsFor(provisional, exchange).questions, exchange)
  if (isAsked && hasReadableBody(exchange)) return readAndClassify(exchange, given)
  const hidden = isAsked ? judgeHiddenFacts(exchange) : null
  if (hidden !== null) return nameByForm(exchange, given, hidden)
  if (!isSettledBy(provisional, exchange, ports)) return readAndClassify(exchange, given)
  return nameByScan(setActions(exchange, provisional.named, provisional), provisional, given)
}

/**
 * Classifies by the fields of a form. Refuses the request (`hidden`) if the gateway reads no form for this operation,
 * because a policy needs facts of the body.
 */
function nameByForm(exchange: Governed, given: Given, hidden: Refusal): Result | Promise<Result> {
  const upload = uploadReaderOf(exchange)
  if (upload === null) return refuseReading(exchange, hidden)
  return nameByUpload(exchange, { ...given, hidden }, upload)
}

/**
 * Reads the whole body when the connector must scan it or read an uploaded file, unless the request is denied
 * regardless of its body.
 */
function nameByScan(
  exchange: Classified,
  provisional: ProvisionalClassification,
  given: Given,
): Result | Promise<Result> {
  const upload = uploadReaderOf(exchange)
  if (upload !== null) {
    const isSent = mayBeSent(exchange, provisional, given.deps.ports)
    return isSent ? nameByUpload(exchange, given, upload) : exchange
  }
  const isScanned = membersToScan(exchange) !== null
  const unscanned = isScanned ? null : judgeUnscanned(exchange)
  if (!isScanned && unscanned === null) return exchange
  if (!mayBeSent(exchange, provisional, given.deps.ports)) return exchange
  if (unscanned !== null) return refuseReading(exchange, unscanned)
  return readAndClassify(exchange, { ...given, provisional })
}

/** Returns false for a request that is denied regardless of its body, so that its body is not awaited. */
function mayBeSent(
  exchange: Governed,
  provisional: ProvisionalClassification,
  ports: PipelinePorts,
): boolean {
  if (exchange.decision !== undefined) return exchange.decision.verdict !== 'deny'
  const decision = decideProvisional(exchange, provisional, ports.clock.nowMs())
  if (decision === 'split') return true
  setDecision(exchange, decision)
  return decision.verdict !== 'deny'
}

/** Classifies an upgrade that is not served. Only the record uses the classification. */
function nameUnserved(exchange: Governed, { bound, request }: Given): void {
  const named = nameMessageSocket(bound, request)
  if (named !== null) setActions(exchange, named)
}

function wasRead(exchange: Governed): boolean {
  return exchange.bodyBytes !== undefined && !staysUnread(exchange)
}

/**
 * Returns true when the request line settles the decision. Returns false when the candidates get different decisions,
 * so that the body must determine the candidate.
 */
function isSettledBy(
  provisional: ProvisionalClassification,
  exchange: Governed,
  ports: PipelinePorts,
): boolean {
  const { named } = provisional
  if (isSettledByBody(named)) {
    const decision = decideProvisional(exchange, provisional, ports.clock.nowMs())
    // The refusal of a body that has arrived names the actual action instead of the strictest candidate.
    const isRead = hasArrived(exchange) && hasReadableBody(exchange)
    if (decision === 'split' || (decision.verdict === 'deny' && isRead)) return false
    setDecision(exchange, decision)
  }
  return true
}

/** Small bodies usually arrive together with the head, and are then classified without a promise. */
function readAndClassify(exchange: Governed, given: Given): Result | Promise<Result> {
  const bytes = given.deps.reader.arrived(exchange)
  return bytes === null ? waitAndClassify(exchange, given) : classifyBytes(exchange, given, bytes)
}

async function waitAndClassify(exchange: Governed, given: Given): Promise<Result> {
  const limit = membersToScan(exchange) === null ? LIMITS.decidingBodyBytes : LIMITS.modelBodyBytes
  const bytes = await given.deps.reader.read(exchange, limit)
  if (bytes === null) {
    return refuseReading(exchange, judgeLabel(given.request.body) ?? tooLong(exchange, limit))
  }
  return classifyBytes(exchange, given, bytes)
}

function classifyBytes(exchange: Governed, given: Given, bytes: Buffer): Result | Promise<Result> {
  const view = viewBody(exchange, given, bytes)
  return view instanceof Promise
    ? view.then((read) => classifyView(exchange, given, read))
    : classifyView(exchange, given, view)
}

function classifyView(exchange: Governed, given: Given, view: BodyView | Refusal): Result {
  if (isRefusal(view) && isHeldUnread(exchange, given, view)) return exchange
  const named = isRefusal(view) ? withPolicies(exchange, view) : classifyRead(exchange, given, view)
  exchange.evaluation.decision = validDecision(
    exchange,
    given.provisional,
    named,
    given.deps.ports.clock.nowMs(),
  )
  return settle(exchange, named)
}

/**
 * Classifies by the body. Uses the cached classification when the scan found the same members and values as for the
 * previous request with the same head.
 */
function classifyRead({ template }: Governed, { bound, request }: Given, view: BodyView): Classification {
  const isScanned = view.kind === 'json' && view.found !== undefined
  if (template === null || !isScanned) return classify(bound, request, view)
  return template.scans.classify(bound, request, view)
}

/**
 * Classifies an unreadable message without its body when the decision is a hold and the approval card quotes the body.
 * Returns false otherwise. Where rules alone would allow the message, it is refused, because a server that can read it
 * could perform a denied action.
 */
function isHeldUnread(
  exchange: Governed,
  { bound, request, deps }: Given,
  { code, detail }: Refusal,
): exchange is Classified {
  if (bound.connector.quotesUnreadBody !== true || code !== 'unsupported_body') return false
  const named = classify(bound, request, { kind: 'invalid', detail, text: '' })
  if (isRefusal(named)) return false
  const decision = decideWithBody(exchange, named, deps.ports.clock.nowMs())
  if (decision.verdict !== 'hold') return false
  setActions(exchange, named)
  setDecision(exchange, decision)
  return true
}

function viewBody(
  exchange: Governed,
  { bound, request, deps }: Given,
  bytes: Buffer,
): BodyView | Refusal | Promise<BodyView | Refusal> {
  const keep = membersToScan(exchange)
  return keep === null
    ? parseBody(bytes, request.body, decidingKeys(bound, request))
    : scanBody(exchange, bytes, { keep, pacer: deps.pacer })
}

/** Classifies a file upload by the requests that the file contains, or a form by its fields. */
async function nameByUpload(exchange: Governed, given: Given, read: UploadReader): Promise<Result> {
  const { request, deps } = given
  const limit = LIMITS.modelBodyBytes
  const isLong = (request.body.length ?? 0) > limit
  const bytes = isLong ? null : await deps.reader.read(exchange, limit)
  if (bytes === null && !isLong) return refuseReading(exchange, tooLong(exchange, limit))
  const facts = await deps.pacer.run(exchange, read(bytes, uploadType(request)))
  exchange.evaluation.uploadedHandles = isRefusal(facts) ? [] : facts.handles
  const named = classifyUpload(exchange, facts, given.hidden)
  if (hasMore(named)) exchange.evaluation.decision = undefined
  return settle(exchange, named)
}

type ByHead = Given & { readonly head: HeadReader }

/**
 * Classifies a request by the first bytes of its body; the rest is streamed. A request that is denied regardless of its
 * body is denied by its request line, without waiting for the body. For its record, only a short body that has already
 * arrived is read.
 */
function nameByHead(exchange: Governed, given: ByHead): Result | Promise<Result> {
  const named = given.head.announced()
  const decision = decideWithBody(exchange, named, given.deps.ports.clock.nowMs())
  if (decision.verdict !== 'deny' || hasArrived(exchange, SHORT_BYTES)) return readHead(exchange, given)
  setDecision(exchange, decision)
  return setActions(exchange, named)
}

/** Limit in bytes of a body that is read for a record only, as for requests that are refused before classification. */
const SHORT_BYTES = 16 * 1024

async function readHead(exchange: Governed, { bound, request, head, deps }: ByHead): Promise<Result> {
  if (request.body.encoding !== undefined) {
    const detail = `The body is ${request.body.encoding}-encoded, but the gateway must read its beginning. Send the body without Content-Encoding.`
    return refuseReading(exchange, { code: 'unsupported_body', detail })
  }
  const possible = judgedActions(head.announced())
  const depth = needsTrees(exchange, possible, head.effectsOfTrees) ? 'trees' : 'commits'
  const bytes = await deps.reader.peek(exchange, head.maxBytes, head.scan(depth))
  const tools = deps.inflateBudget.toolsFor(exchange)
  const commits = await deps.pacer.run(exchange, head.read(bytes, tools, depth))
  return settle(exchange, classify(bound, request, { kind: 'head', bytes, commits }))
}

function settle(exchange: Governed, named: Classification): Result {
  if (isRefusal(named)) return refuseReading(exchange, named)
  return setActions(exchange, named)
}
