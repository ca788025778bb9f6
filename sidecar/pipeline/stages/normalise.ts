import { isRefusal } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import { bindConnector } from '../bind-connector.ts'
import { type HasRequest, type Loaded, setRequest } from '../phases.ts'
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
