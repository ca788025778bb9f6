import { stripRequest } from '../../../core/connectors/credentials/query-credentials.ts'
import { findConnector } from '../../../core/connectors/registry.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import { passesAgentCredential } from '../outgoing.ts'
import { type HasRequest, type Loaded, type Parsed, setConnector, setRequest } from '../phases.ts'
import { refuseReading } from '../refusal/refuse.ts'
import type { Stage } from '../stage.ts'

/** Creates the stage that parses the request. All later stages use this one result. */
export function createNormalise<Phase extends Loaded>(): Stage<Phase, Phase & HasRequest> {
  return {
    name: 'normalise',
    run(exchange) {
      const { raw, template } = exchange
      const request = template === null ? canonicalise(raw) : template.read(raw)
      if (isRefusal(request)) return refuseReading(exchange, request)
      const parsed = setRequest(exchange, request)
      bindConnector(parsed)
      return parsed
    },
  }
}

/**
 * Sets the connector that owns the host of the request under the current snapshot of the exchange, if there is one.
 * Removes credentials from the query before anything is classified or decided.
 */
export function bindConnector(exchange: Parsed): void {
  const { snapshot, read } = exchange
  const bound = findConnector(snapshot.hosts, read.host, read.port)
  if (bound === null || exchange.kind === 'tunnel' || passesAgentCredential(exchange, bound)) {
    setConnector(exchange, bound ?? undefined, { request: read, losesOther: false })
    return
  }
  setConnector(exchange, bound, stripRequest(read, bound))
}
