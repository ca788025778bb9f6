import * as z from 'zod'
import { described } from '../described.ts'

/** Quantity as in Kubernetes: `250m`, `90Mi`, `1`. */
const quantity = z.union([
  z
    .string()
    .min(1)
    .max(32)
    .regex(
      /^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei|e[0-9]+)?$/,
      'a quantity such as 250m or 90Mi',
    ),
  z.int().min(0),
])

const amounts = z.strictObject({
  cpu: described(quantity.optional(), 'CPU time in cores, or in thousandths with `m`.', '100m'),
  memory: described(quantity.optional(), 'Memory in bytes, or with a unit such as `Mi`.', '256Mi'),
  'ephemeral-storage': described(
    quantity.optional(),
    'Storage on the node, the journal included, in bytes or with a unit such as `Gi`.',
    '1Gi',
  ),
})

/** Resources of a container. The operator's defaults apply to missing values. */
export const Resources = z.strictObject({
  requests: described(amounts.optional(), 'Resources that the scheduler reserves.'),
  limits: described(amounts.optional(), 'Resources that the container cannot exceed.'),
})
