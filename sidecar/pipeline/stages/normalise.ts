import { isRefusal } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import { bindConnector } from '../bind-connector.ts'
import type { Stage } from '../exchange.ts'
import { refuseReading } from '../refusal/refuse.ts'

/** Parses the request. All later stages use this one result. */
export const normalise: Stage = {
  name: 'normalise',
  run(exchange) {
    const { raw, template } = exchange
    const request = template === null ? canonicalise(raw) : template.read(raw)
    if (isRefusal(request)) return refuseReading(exchange, request)
    exchange.read = request
    bindConnector(exchange, request)
    return 'continue'
  },
}
