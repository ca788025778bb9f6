import type { Effect } from '../../action/action.ts'
import { openEnum } from '../schema/open-enum.ts'

/** Effect of an action: read, compute or write. Newer versions may send other effects. */
export const EffectWord = openEnum(['read', 'compute', 'write'] as const satisfies readonly Effect[])
