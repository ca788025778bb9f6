/** Catalogue rows for the import and export of repositories. */
export const MIGRATIONS = `
  GET    /orgs/{org}/migrations                                       migration.list             read  low
  POST   /orgs/{org}/migrations                                       migration.start            write high   repositories
  GET    /orgs/{org}/migrations/{migration_id}                        migration.get              read  low
  GET    /orgs/{org}/migrations/{migration_id}/archive                migration.download_archive read  medium
  DELETE /orgs/{org}/migrations/{migration_id}/archive                migration.delete_archive   write high
  DELETE /orgs/{org}/migrations/{migration_id}/repos/{repo_name}/lock migration.unlock_repo      write high
  GET    /orgs/{org}/migrations/{migration_id}/repositories           migration.list_repos       read  low
  GET    /repos/{owner}/{repo}/import                                 import.get                 read  low
  PUT    /repos/{owner}/{repo}/import                                 import.start               write high   vcs_url
  PATCH  /repos/{owner}/{repo}/import                                 import.update              write high
  DELETE /repos/{owner}/{repo}/import                                 import.cancel              write medium
  GET    /repos/{owner}/{repo}/import/authors                         import.list_authors        read  low
  PATCH  /repos/{owner}/{repo}/import/authors/{author_id}             import.map_author          write medium name,email
  GET    /repos/{owner}/{repo}/import/large_files                     import.list_large_files    read  low
  PATCH  /repos/{owner}/{repo}/import/lfs                             import.set_lfs             write medium use_lfs
  GET    /user/migrations                                             migration.list             read  low
  POST   /user/migrations                                             migration.start            write high   repositories @same
  GET    /user/migrations/{migration_id}                              migration.get              read  low
  GET    /user/migrations/{migration_id}/archive                      migration.download_archive read  medium
  DELETE /user/migrations/{migration_id}/archive                      migration.delete_archive   write high   @same
  DELETE /user/migrations/{migration_id}/repos/{repo_name}/lock       migration.unlock_repo      write high   @same
  GET    /user/migrations/{migration_id}/repositories                 migration.list_repos       read  low
`
