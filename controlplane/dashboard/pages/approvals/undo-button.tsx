import { Button } from '@mantine/core'
import { call } from '../../api/client.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'

type Props = { readonly id: string; readonly label?: string; readonly onUndone: () => void }

/**
 * Renders a button that withdraws an approval. Shows the error when the withdrawal fails, for example because the
 * approval was already used.
 */
export function UndoButton({ id, label = 'Undo', onUndone }: Props) {
  const undo = useMutation(async () => {
    await call('DELETE /api/dashboard/proxy-approvals', { query: { id } })
    onUndone()
  })
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={() => undo.run()} loading={undo.isBusy}>
        {label}
      </Button>
      {undo.error === null ? null : <ErrorNote error={undo.error} />}
    </>
  )
}
