/** Catalogue rows for packages and their versions. */
export const PACKAGES = `
  GET    /orgs/{org}/docker/conflicts                                                 package.list_docker_conflicts read  low
  GET    /orgs/{org}/packages                                                         package.list                  read  low
  GET    /orgs/{org}/packages/{package_type}/{package_name/}                          package.get                   read  low
  DELETE /orgs/{org}/packages/{package_type}/{package_name/}                          package.delete                write high
  POST   /orgs/{org}/packages/{package_type}/{package_name/}/restore                  package.restore               write medium
  GET    /orgs/{org}/packages/{package_type}/{package_name/}/versions                 package_version.list          read  low
  GET    /orgs/{org}/packages/{package_type}/{package_name/}/versions/{package_version_id} package_version.get           read  low
  DELETE /orgs/{org}/packages/{package_type}/{package_name/}/versions/{package_version_id} package_version.delete        write high
  POST   /orgs/{org}/packages/{package_type}/{package_name/}/versions/{package_version_id}/restore package_version.restore       write medium
  GET    /user/docker/conflicts                                                       package.list_docker_conflicts read  low
  GET    /user/packages                                                               package.list                  read  low
  GET    /user/packages/{package_type}/{package_name/}                                package.get                   read  low
  DELETE /user/packages/{package_type}/{package_name/}                                package.delete                write high   @same
  POST   /user/packages/{package_type}/{package_name/}/restore                        package.restore               write medium @same
  GET    /user/packages/{package_type}/{package_name/}/versions                       package_version.list          read  low
  GET    /user/packages/{package_type}/{package_name/}/versions/{package_version_id}  package_version.get           read  low
  DELETE /user/packages/{package_type}/{package_name/}/versions/{package_version_id}  package_version.delete        write high   @same
  POST   /user/packages/{package_type}/{package_name/}/versions/{package_version_id}/restore package_version.restore       write medium @same
  GET    /users/{username}/docker/conflicts                                           package.list_docker_conflicts read  low
  GET    /users/{username}/packages                                                   package.list                  read  low
  GET    /users/{username}/packages/{package_type}/{package_name/}                    package.get                   read  low
  DELETE /users/{username}/packages/{package_type}/{package_name/}                    package.delete                write high   @same
  POST   /users/{username}/packages/{package_type}/{package_name/}/restore            package.restore               write medium @same
  GET    /users/{username}/packages/{package_type}/{package_name/}/versions           package_version.list          read  low
  GET    /users/{username}/packages/{package_type}/{package_name/}/versions/{package_version_id} package_version.get           read  low
  DELETE /users/{username}/packages/{package_type}/{package_name/}/versions/{package_version_id} package_version.delete        write high   @same
  POST   /users/{username}/packages/{package_type}/{package_name/}/versions/{package_version_id}/restore package_version.restore       write medium @same
`
