# cmake -DPAGE=FOLDER -DLIBRARY=FILE -DOUT=FILE.cc -P embed.cmake: the page of --report with its library, in two halves between which the data go, as C++.
# Without LIBRARY both are empty.
cmake_minimum_required(VERSION 3.25)
set(head "")
set(tail "")
if(LIBRARY)
  file(READ ${PAGE}/page.html page)
  file(READ ${PAGE}/page.css style)
  file(READ ${LIBRARY} library)
  foreach(part model graph plots panels)
    file(READ ${PAGE}/${part}.js text)
    string(APPEND script "${text}")
  endforeach()
  string(REPLACE "@STYLE@" "${style}" page "${page}")
  string(REPLACE "@SCRIPT@" "${script}" page "${page}")
  string(REPLACE "@LIBRARY@" "${library}" page "${page}")
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
