# cmake -DPAGE=FOLDER -DLIBRARIES=FILE;… -DOUT=FILE.cc -P embed.cmake: the page of --report with its libraries, in two halves between which the data go, as C++.
# Without LIBRARIES both are empty.
cmake_minimum_required(VERSION 3.25)
set(head "")
set(tail "")
if(LIBRARIES)
  file(READ ${PAGE}/page.html page)
  file(READ ${PAGE}/page.css style)
  foreach(library IN LISTS LIBRARIES)
    file(READ ${library} text)
    string(APPEND libraries "${text}\n")
  endforeach()
  foreach(part model graph plots panels)
    file(READ ${PAGE}/${part}.js text)
    string(APPEND script "${text}")
  endforeach()
  string(REPLACE "@STYLE@" "${style}" page "${page}")
  string(REPLACE "@SCRIPT@" "${script}" page "${page}")
  string(REPLACE "@LIBRARIES@" "${libraries}" page "${page}")
  string(FIND "${page}" "@DATA@" at)
  string(SUBSTRING "${page}" 0 ${at} head)
  math(EXPR at "${at} + 6")
  string(SUBSTRING "${page}" ${at} -1 tail)
endif()
file(WRITE ${OUT} "#include \"tools/common/report_page.h\"

namespace onnx_cudnn {
const std::string_view kReportHead = R\"onnx_page(${head})onnx_page\";
const std::string_view kReportTail = R\"onnx_page(${tail})onnx_page\";
}  // namespace onnx_cudnn
")
