import type { Effect } from '../../action/action.ts'
import { openWord } from '../open-word.ts'

/** Effect of an action: read, compute or write. Newer versions may have others. */
export const EffectWord = openWord(['read', 'compute', 'write'] as const satisfies readonly Effect[])
