import { Alert, Button } from '@mantine/core'
import type { ApiError } from '../../api/api-error.ts'
import { ManifestEditNote } from '../manifest/manifest-edit.tsx'
import { Icon } from './icon.tsx'

/**
 * Shows an error, with a retry button if `onRetry` is set. An error with a manifest to commit is shown as this
 * manifest.
 */
export function ErrorNote(props: {
  readonly error: ApiError
  readonly title?: string
  readonly onRetry?: () => void
  readonly retryLabel?: string
}) {
  const { error, title = titleOf(error.status), onRetry, retryLabel = 'Try again' } = props
  if (error.edit !== null) return <ManifestEditNote edit={error.edit} message={error.message} />
  return (
    <Alert
      color="red"
      variant="outline"
      title={title}
      icon={<Icon name="warning" />}
      role="alert"
      className="note note-error"
    >
      {error.message}
      {onRetry === undefined ? null : (
        <div>
          <Button mt="xs" size="compact-sm" variant="default" onClick={onRetry}>
            {retryLabel}
          </Button>
        </div>
      )}
    </Alert>
  )
}

function titleOf(status: number): string {
  if (status === 0) return 'No connection'
  if (status === 401) return 'Not signed in'
  if (status === 403) return 'Permission denied'
  if (status === 404) return 'Not found'
  if (status === 409 || status === 410) return 'Conflict'
  if (status === 429) return 'Too many attempts'
  if (status >= 500) return 'Control plane error'
  return 'Request failed'
}
