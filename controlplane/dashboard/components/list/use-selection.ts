import { useMemo, useState } from 'react'

/** Keys of the selected rows of a list. */
export type Selection = {
  readonly keys: ReadonlySet<string>
  readonly set: (keys: readonly string[], isSelected: boolean) => void
  readonly clear: () => void
}

export function useSelection(): Selection {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  return useMemo(
    () => ({
      keys,
      set: (changed, isSelected) =>
        setKeys((before) => {
          const others = [...before].filter((key) => !changed.includes(key))
          return new Set(isSelected ? [...others, ...changed] : others)
        }),
      clear: () => setKeys(new Set()),
    }),
    [keys],
  )
}
